package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

const (
	groupName = "server"
	jobName   = "@NAME@-server"
	password  = "((password))"
)

type object map[string]any

type schema struct {
	Description string `json:"description"`
	Type        string `json:"type"`
	Minimum     int    `json:"minimum"`
	Maximum     int    `json:"maximum"`
}

// The parameters of an order. Plans have properties of the same names, which are the defaults.
var parameters = map[string]schema{
	"max_clients": {Description: "The maximum number of connected clients", Type: "integer", Minimum: 1, Maximum: 10000},
}

type release struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Jobs    []string `json:"jobs"`
}

type serviceDeployment struct {
	Name      string    `json:"deployment_name"`
	Releases  []release `json:"releases"`
	Stemcells []struct {
		OS      string `json:"stemcell_os"`
		Version string `json:"stemcell_version"`
	} `json:"stemcells"`
}

type plan struct {
	Properties       object              `json:"properties"`
	LifecycleErrands map[string][]object `json:"lifecycle_errands"`
	InstanceGroups   []object            `json:"instance_groups"`
	Update           object              `json:"update"`
}

func generateManifest(call section) (any, error) {
	var deployment serviceDeployment
	var plan plan
	if err := call.decode("service_deployment", &deployment); err != nil {
		return nil, err
	}
	if err := call.decode("plan", &plan); err != nil {
		return nil, err
	}
	chosen, err := requestParameters(call, parameters)
	if err != nil {
		return nil, err
	}
	if text := firstError(plan.Properties, parameters, "plan property"); text != "" {
		return nil, errors.New(text)
	}
	if len(plan.LifecycleErrands["post_deploy"])+len(plan.LifecycleErrands["pre_delete"]) > 0 {
		return nil, errors.New("the plan has lifecycle errands, which this adapter does not support")
	}
	group, err := instanceGroup(plan)
	if err != nil {
		return nil, err
	}
	releaseName, err := releaseOf(jobName, deployment.Releases)
	if err != nil {
		return nil, err
	}
	if len(deployment.Stemcells) == 0 {
		return nil, errors.New("the service deployment has no stemcell")
	}
	// No later request repeats a parameter, so the deployed manifest has the user's earlier choice.
	maxClients := first(
		chosen["max_clients"],
		deployedNumber(call["previous_manifest"], "max_clients"),
		plan.Properties["max_clients"],
		100,
	)
	group["stemcell"] = "default"
	group["jobs"] = []object{{
		"name":       jobName,
		"release":    releaseName,
		"properties": object{"max_clients": maxClients, "password": password},
	}}
	releases := []object{}
	for _, release := range deployment.Releases {
		releases = append(releases, object{"name": release.Name, "version": release.Version})
	}
	update := plan.Update
	if update == nil {
		update = object{
			"canaries": 1, "max_in_flight": 1, "canary_watch_time": "1000-60000", "update_watch_time": "1000-60000",
		}
	}
	stemcell := deployment.Stemcells[0]
	manifest := object{
		"name":            deployment.Name,
		"releases":        releases,
		"stemcells":       []object{{"alias": "default", "os": stemcell.OS, "version": stemcell.Version}},
		"instance_groups": []object{group},
		// The Director generates the password; only applications receive it.
		"variables": []object{{"name": "password", "type": "password"}},
		"update":    update,
	}
	// JSON is YAML, too.
	text, err := json.MarshalIndent(manifest, "", "  ")
	return object{"manifest": string(text)}, err
}

func dashboardURL(call section) (any, error) {
	// Replace the address by that of a dashboard, or remove this subcommand.
	return object{"dashboard_url": "https://@NAME@.example.org/" + call["instance_id"]}, nil
}

func createBinding(call section) (any, error) {
	var addresses map[string][]string
	var secrets map[string]string
	if _, err := requestParameters(call, nil); err != nil {
		return nil, err
	}
	if err := call.decode("bosh_vms", &addresses); err != nil {
		return nil, err
	}
	if err := call.decode("secrets", &secrets); err != nil {
		return nil, err
	}
	if len(addresses[groupName]) == 0 {
		return nil, fmt.Errorf("there is no VM of instance group %s", groupName)
	}
	if secrets[password] == "" {
		return nil, errors.New("the broker sent no password; it needs `enable_secure_manifests: true`")
	}
	return object{"credentials": object{
		"host": addresses[groupName][0], "port": 6379, "password": secrets[password],
	}}, nil
}

// All bindings share the password of the instance, so nothing is deleted.
func deleteBinding(section) (any, error) {
	return nil, nil
}

func generatePlanSchemas(section) (any, error) {
	accepts := func(properties map[string]schema) object {
		return object{"parameters": object{
			"$schema":              "http://json-schema.org/draft-04/schema#",
			"type":                 "object",
			"properties":           properties,
			"additionalProperties": false,
		}}
	}
	return object{
		"service_instance": object{"create": accepts(parameters), "update": accepts(parameters)},
		"service_binding":  object{"create": accepts(map[string]schema{})},
	}, nil
}

func requestParameters(call section, schemas map[string]schema) (object, error) {
	var request struct {
		Parameters object `json:"parameters"`
	}
	if err := call.decode("request_parameters", &request); err != nil {
		return nil, err
	}
	if text := firstError(request.Parameters, schemas, "parameter"); text != "" {
		return nil, userError(text)
	}
	return request.Parameters, nil
}

// firstError describes an unknown or invalid value. The text has no values, which may be secrets.
func firstError(values object, schemas map[string]schema, kind string) string {
	for name, value := range values {
		schema, known := schemas[name]
		if !known {
			return fmt.Sprintf("%s `%s` is unknown; available: %s", kind, name, names(schemas))
		}
		number, isNumber := value.(float64)
		isInteger := isNumber && number == float64(int(number))
		if !isInteger || int(number) < schema.Minimum || int(number) > schema.Maximum {
			return fmt.Sprintf("%s `%s` must be an integer from %d to %d", kind, name, schema.Minimum, schema.Maximum)
		}
	}
	return ""
}

func first(values ...any) any {
	for _, value := range values {
		if value != nil {
			return value
		}
	}
	return nil
}

// deployedNumber finds the number of that name in a manifest of JSON or other YAML. The standard library has no reader of YAML.
func deployedNumber(manifest, name string) any {
	found := regexp.MustCompile(`\b` + name + `"?: *([0-9]+)`).FindStringSubmatch(manifest)
	if found == nil {
		return nil
	}
	number, err := strconv.Atoi(found[1])
	if err != nil {
		return nil
	}
	return number
}

func instanceGroup(plan plan) (object, error) {
	for _, group := range plan.InstanceGroups {
		if group["name"] != groupName {
			continue
		}
		networks := []object{}
		named, _ := group["networks"].([]any)
		for _, name := range named {
			networks = append(networks, object{"name": name})
		}
		group["networks"] = networks
		return group, nil
	}
	return nil, fmt.Errorf("the plan has no instance group %s", groupName)
}

func releaseOf(job string, releases []release) (string, error) {
	found := []string{}
	for _, release := range releases {
		for _, provided := range release.Jobs {
			if provided == job {
				found = append(found, release.Name)
			}
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("job %s must be in one release, it is in %d", job, len(found))
	}
	return found[0], nil
}
