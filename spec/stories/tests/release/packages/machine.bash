# A machine of its own: systemd on a copy of this system's files, whose changes are in memory. It shares the network.
#
#   machine.bash NAME MOUNTED    starts it, with the folder MOUNTED at /mnt; ends with SIGTERM
#
# It prints the id of its systemd. Everything is gone when it ends.
set -euo pipefail

name=$1 mounted=$2 groups=()
work=$(mktemp -d "${TMPDIR:-/tmp}/odb-machine.XXXXXX")

inside() {
  local root=$work/root device
  mount --make-rprivate /
  mount -t tmpfs tmpfs "$work"
  mkdir "$work"/{changes,index,root}
  mount -t overlay overlay -o "lowerdir=/,upperdir=$work/changes,workdir=$work/index" "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount -t tmpfs tmpfs "$root/run"
  mount --bind "$mounted" "$root/mnt"
  mount -t tmpfs tmpfs "$root/tmp"
  mount -t tmpfs tmpfs "$root/dev"
  for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
  done
  mkdir "$root"/dev/{shm,pts,mqueue}
  mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
  ln -s pts/ptmx "$root/dev/ptmx"
  ln -s /proc/self/fd "$root/dev/fd"
  if [[ -d /sys/fs/cgroup/systemd ]]; then
    mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
    mkdir "$root"/sys/fs/cgroup/{systemd,unified}
    mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
    [[ ! -d /sys/fs/cgroup/unified ]] || mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup/unified"
  else
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
  fi
  # No service of this system runs there.
  rm -rf "$root"/etc/systemd/system/*.wants
  # Images of containers forbid services to start.
  rm -f "$root/usr/sbin/policy-rc.d"
  cd "$root"
  exec chroot . /usr/bin/env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=basic.target --show-status=no --log-target=null
}

# systemd makes its groups below this one, so that they can be removed.
join_groups() {
  local folder
  for folder in /sys/fs/cgroup /sys/fs/cgroup/*/; do
    folder=${folder%/}
    [[ ! -L $folder && -w $folder/cgroup.procs ]] || continue
    mkdir "$folder/$name"
    # A new group of cpusets has no processor.
    if (echo $$ >"$folder/$name/cgroup.procs") 2>/dev/null; then
      groups+=("$folder")
    else
      rmdir "$folder/$name"
    fi
  done
}

leave() {
  local folder
  trap '' TERM
  kill -KILL "$outer" 2>/dev/null || true
  wait "$outer" 2>/dev/null || true
  for folder in "${groups[@]}"; do
    echo $$ >"$folder/cgroup.procs"
    # The processes of the machine are being reaped.
    until [[ ! -d $folder/$name ]]; do
      find "$folder/$name" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.05
    done
  done
  rmdir "$work"
}

join_groups
export -f inside
export work mounted
unshare --mount --pid --fork --cgroup --ipc --uts --kill-child bash -euo pipefail -c inside >&2 &
outer=$!
trap leave EXIT
trap exit TERM INT
init=""
until init=$(<"/proc/$outer/task/$outer/children") && [[ -n $init ]]; do
  kill -0 "$outer"
  sleep 0.02
done
echo "${init% }"
wait "$outer"
