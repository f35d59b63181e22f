# Renders the templates of BOSH jobs as a Director does: a stand-in for it in tests, which have no Director.
#
#   ruby render.rb CASES.json > ANSWERS.json
#
# CASES.json holds a list of cases, ANSWERS.json an answer for each, in the same order.
#
#   case:   {"job": FOLDER, "properties": {…}, "links": {NAME: LINK}, "spec": {…}}
#   LINK:   {"instances": […], "properties": {…}, "address": "…"}, where the properties are taken unchanged, or with
#           "provider": {"job": FOLDER, "link": NAME, "properties": {…}} instead, of which the link gets what the
#           provider's specification lists
#   answer: {"files": {PATH: TEXT}, "errors": [{"template": …, "line": …, "text": …}]}
#
# FOLDER is a job's folder in a source release (`spec`) or in a release's tarball (`job.MF`). What templates may call is
# described in https://bosh.io/docs/jobs/#properties and https://bosh.io/docs/links/#templates.

# No more than these: what else a template needs it has to require itself.
require 'erb'
require 'json'
require 'ostruct'
require 'yaml'

# Reads and writes members of nested hashes by dotted names.
module Dotted
  def self.get(tree, name)
    name.split('.').reduce(tree) do |node, key|
      return nil if node.nil?

      node[key]
    end
  end

  def self.set(tree, name, value)
    *parents, last = name.split('.')
    node = parents.reduce(tree) { |at, key| at[key] ||= {} }
    node[last] = value
  end
end

class UnknownProperty < StandardError
  def initialize(names)
    super("Can't find property '#{names}'")
  end
end

class UnknownLink < StandardError
  def initialize(name)
    super("Can't find link '#{name}'")
  end
end

class WrongPropertyType < StandardError
  def initialize(name, found)
    super("Property '#{name}' expects a hash, but received '#{found.class}'")
  end
end

# `p` and `if_p`, which jobs and links have in common.
module Lookup
  def p(wanted, *default)
    names = Array(wanted)
    names.each do |name|
      value = Dotted.get(lookup_in, name)
      return value unless value.nil?
    end
    raise UnknownProperty.new(names) if default.empty?

    default.first
  end

  def if_p(*names)
    values = names.map { |name| Dotted.get(lookup_in, name) }
    return Otherwise.new(self) if values.any?(&:nil?)

    yield(*values)
    Done.new
  end
end

# What `if_p` and `if_link` return when something was missing.
class Otherwise
  def initialize(context)
    @context = context
  end

  def else
    yield
  end

  def else_if_p(*names, &block)
    @context.if_p(*names, &block)
  end

  def else_if_link(name, &block)
    @context.if_link(name, &block)
  end
end

# What `if_p` and `if_link` return when nothing was missing.
class Done
  def else; end

  def else_if_p(*)
    Done.new
  end

  def else_if_link(*)
    Done.new
  end
end

class LinkedInstance
  include Lookup

  attr_reader :name, :index, :id, :az, :address, :bootstrap

  def initialize(instance, properties)
    @name, @index, @id, @az, @address, @bootstrap =
      instance.values_at('name', 'index', 'id', 'az', 'address', 'bootstrap')
    @properties = properties
  end

  private

  def lookup_in
    @properties
  end
end

class Link
  include Lookup

  attr_reader :instances, :properties

  def initialize(link, properties)
    @properties = properties
    @instances = link['instances'].map { |instance| LinkedInstance.new(instance, properties) }
    @address = link['address']
  end

  def address(_criteria = {})
    @address
  end

  private

  def lookup_in
    @properties
  end
end

# The object that a template is evaluated in.
class Context
  include Lookup

  attr_reader :name, :index, :spec, :properties, :raw_properties

  def initialize(spec, properties, links)
    @name = spec.dig('job', 'name')
    @index = spec['index']
    @spec = open(spec.merge('properties' => properties))
    @raw_properties = properties
    @properties = open(properties)
    @links = links
  end

  def link(name)
    @links.fetch(name) { raise UnknownLink.new(name) }
  end

  def if_link(name)
    return Otherwise.new(self) unless @links.key?(name)

    yield @links[name]
    Done.new
  end

  def get_binding
    binding
  end

  private

  def lookup_in
    @raw_properties
  end

  def open(value)
    case value
    when Hash then OpenStruct.new(value.transform_values { |member| open(member) })
    when Array then value.map { |item| open(item) }
    else value
    end
  end
end

# A job's folder.
class Job
  def self.at(folder)
    @jobs ||= {}
    @jobs[folder] ||= new(folder)
  end

  def initialize(folder)
    @folder = folder
    file = %w[spec job.MF].map { |name| File.join(folder, name) }.find { |path| File.file?(path) }
    raise "there is no job in #{folder}" unless file

    @spec = YAML.safe_load(File.read(file), aliases: true)
  end

  def name
    @spec['name']
  end

  # The files, each with its template.
  def templates
    files = (@spec['templates'] || {}).map { |source, target| [target, "templates/#{source}"] }
    [%w[monit monit]] + files
  end

  # Declared properties only, each with its default, in the order of the specification.
  def bind(given)
    declared.each_with_object({}) do |(name, definition), bound|
      Dotted.set(bound, name, copy(given_or_default(given, name, definition)))
    end
  end

  # Which of the links it was given it asks for.
  def consumes
    @spec['consumes'] || []
  end

  # What a link of that name hands on.
  def provide(link, given)
    provided = (@spec['provides'] || []).find { |candidate| candidate['name'] == link }
    raise "job #{name} provides no link #{link}" unless provided

    (provided['properties'] || []).each_with_object({}) do |name, bound|
      definition = declared.fetch(name) do
        raise "Link property #{name} in template #{self.name} is not defined in release spec"
      end
      Dotted.set(bound, name, copy(given_or_default(given, name, definition)))
    end
  end

  def render(target, source, context)
    path = File.join(@folder, source)
    template = ERB.new(File.read(path), trim_mode: '-')
    template.filename = path
    [{ target => template.result(context.get_binding) }, nil]
  rescue StandardError, ScriptError => e
    line = e.backtrace.to_a.map { |frame| frame[/\A#{Regexp.escape(path)}:(\d+)/, 1] }.compact.first
    [{}, { 'template' => File.basename(source), 'line' => line&.to_i, 'text' => e.message }]
  end

  private

  def declared
    @spec['properties'] || {}
  end

  def given_or_default(given, name, definition)
    value = name.split('.').reduce(given) do |node, key|
      raise WrongPropertyType.new(name, node) unless node.is_a?(Hash)
      break nil if node[key].nil?

      node[key]
    end
    value.nil? ? (definition || {})['default'] : value
  end

  # What one template changes no other one sees.
  def copy(value)
    Marshal.load(Marshal.dump(value))
  end
end

# Cases and their answers.
module Cases
  def self.links_of(job, given)
    job.consumes.each_with_object({}) do |consumed, links|
      name = consumed['name']
      link = given[name]
      if link.nil?
        next if consumed['optional']

        raise "Failed to resolve link '#{name}' with type '#{consumed['type']}' from job '#{job.name}'"
      end
      provider = link['provider']
      properties = provider ? Job.at(provider['job']).provide(provider['link'], provider['properties']) : link['properties']
      links[name] = Link.new(link, properties || {})
    end
  end

  def self.answer(wanted)
    job = Job.at(wanted['job'])
    links = links_of(job, wanted['links'] || {})
    rendered = job.templates.map do |target, source|
      context = Context.new(wanted['spec'] || {}, job.bind(wanted['properties'] || {}), links)
      job.render(target, source, context)
    end
    { 'files' => rendered.map(&:first).reduce({}, :merge), 'errors' => rendered.map(&:last).compact }
  rescue StandardError => e
    { 'files' => {}, 'errors' => [{ 'template' => nil, 'line' => nil, 'text' => e.message }] }
  end
end

cases = JSON.parse(File.read(ARGV.fetch(0)))
# What a template prints must not get between the answers.
answers = $stdout.dup
$stdout.reopen($stderr)
answers.write(JSON.generate(cases.map { |wanted| Cases.answer(wanted) }))
answers.close
