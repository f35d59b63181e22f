# Stands in for bpm in tests, on machines that have no runc and no `/var/vcap`: reads a job's bpm.yml and runs a process of it
# with its executable, arguments, environment and limits, and nothing else of what surrounds it.
#
#   ruby bpm.rb ROOT start|run|stop|pid JOB [-p PROCESS] [-e NAME=VALUE]
#
# ROOT is the folder that stands for `/var/vcap`. Facts are bpm-release's: `src/bpm/config` (files, keys), `src/bpm/runc/adapter`
# (environment, folder), `src/bpm/runc/lifecycle` (how processes are started, run and stopped). As there, the process whose id is
# in the file is an init (tini) that hands signals on and whose end is the end of all that it has started.

require 'fileutils'
require 'yaml'

class Refused < StandardError; end

# Prints what `bpm.yml` has for one process; keys that bpm would ignore or fail on are rejected.
class Configuration
  KEYS = %w[name executable args env workdir hooks capabilities limits ephemeral_disk persistent_disk additional_volumes
            unsafe shutdown_signal].freeze
  LIMITS = %w[memory open_files processes].freeze
  UNSAFE = %w[privileged unrestricted_volumes host_pid_namespace].freeze
  VOLUME = %w[path writable allow_executions mount_only shared].freeze

  attr_reader :executable, :args, :env, :workdir, :open_files

  def initialize(file, process)
    document = YAML.safe_load(File.read(file))
    known(document, %w[processes], file)
    section = document['processes'].find { |candidate| candidate['name'] == process }
    raise Refused, "process #{process.inspect} not present in job configuration (#{file})" unless section

    known(section, KEYS, process)
    known(section['limits'], LIMITS, 'limits')
    known(section['unsafe'], UNSAFE, 'unsafe')
    volumes = section.dig('unsafe', 'unrestricted_volumes').to_a + section['additional_volumes'].to_a
    volumes.each { |volume| known(volume, VOLUME, 'volume') }
    @executable = text(section['executable'], 'executable')
    @args = section['args'].to_a.map { |value| text(value, 'args') }
    @env = section['env'].to_h.transform_values { |value| text(value, 'env') }
    @workdir = section['workdir']
    @open_files = section.dig('limits', 'open_files')
  end

  private

  def known(section, keys, where)
    unknown = section.to_h.keys - keys
    raise Refused, "bpm knows no #{unknown.join(', ')} of #{where}" unless unknown.empty?
  end

  def text(value, where)
    return value if value.is_a?(String) && !value.empty?

    raise Refused, "#{where} of a process has to be text, not #{value.inspect}"
  end
end

# One process of a job.
class Member
  def initialize(root, job, process, extra)
    @root, @job, @process, @extra = root, job, process, extra
    @folder = File.join(root, 'jobs', job)
    @pid_file = File.join(root, 'sys/run/bpm', job, "#{process}.pid")
    @temporary = File.join(root, 'data', job, 'tmp')
    @log = File.join(root, 'sys/log', job, process)
    @configuration = Configuration.new(File.join(@folder, 'config/bpm.yml'), process)
  end

  def start
    return if id

    prepare
    reader, writer = IO.pipe
    supervisor = fork { supervise(reader, writer) }
    Process.detach(supervisor)
    writer.close
    raise Refused, 'failed to start job-process' unless reader.gets
  end

  def run
    prepare
    copies = [[$stdout, 'stdout'], [$stderr, 'stderr']].map { |stream, name| copy(stream, "#{@log}.#{name}.log") }
    status = initialise(copies.map(&:first)) { copies.each { |ends, _| ends.close } }
    copies.each { |_, thread| thread.join }
    warn "Error: failed to run job-process: exit status #{status}" unless status.zero?
    status
  end

  def stop
    return unless id

    Process.kill('TERM', id)
    gone_within(15) || Process.kill('QUIT', id)
    gone_within(2) || Process.kill('KILL', id)
    gone_within(15)
    FileUtils.rm_f(@pid_file)
  end

  # The process id, if it runs.
  def id
    number = Integer(File.read(@pid_file))
    number if File.read("/proc/#{number}/stat").rpartition(')').last.split.first != 'Z'
  rescue Errno::ENOENT, Errno::ESRCH
    nil
  end

  private

  def prepare
    folders = [File.dirname(@pid_file), File.dirname(@log), @temporary]
    folders.each { |folder| FileUtils.mkdir_p(folder) }
  end

  # What runc's part is: it outlives bpm and takes note of the end.
  def supervise(reader, writer)
    Process.setsid
    reader.close
    null = File.open(File::NULL, 'r+')
    [$stdin, $stdout, $stderr].each { |stream| stream.reopen(null) }
    logs = %w[stdout stderr].map { |name| File.open("#{@log}.#{name}.log", 'a', 0o600) }
    init = fork do
      writer.close
      exit!(initialise(logs))
    end
    File.write(@pid_file, init.to_s)
    writer.puts(init)
    writer.close
    Process.wait(init)
    exit!(0)
  end

  # What tini's part is.
  def initialise(streams)
    command = ['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--', @configuration.executable, *@configuration.args]
    options = { chdir: @configuration.workdir || @folder, unsetenv_others: true, in: File::NULL, out: streams[0], err: streams[1] }
    options[:rlimit_nofile] = @configuration.open_files if @configuration.open_files
    child = Process.spawn(environment, *command, options)
    %w[TERM INT HUP QUIT].each { |signal| trap(signal) { hand_on(signal, child) } }
    yield if block_given?
    _, status = Process.wait2(child)
    status.exitstatus || 128 + status.termsig
  end

  def hand_on(signal, child)
    Process.kill(signal, child)
  rescue Errno::ESRCH
    # It has ended already.
  end

  def environment
    path = "#{@folder}/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:."
    environment = { 'TMPDIR' => @temporary, 'LANG' => 'en_US.UTF-8', 'PATH' => path, 'HOME' => File.dirname(@temporary) }
    environment.merge(@configuration.env, @extra)
  end

  # To a file and to the caller.
  def copy(stream, file)
    from, to = IO.pipe
    thread = Thread.new do
      File.open(file, 'a', 0o600) do |log|
        while (text = from.readpartial(64 * 1024))
          [log, stream].each { |sink| sink.write(text) && sink.flush }
        end
      rescue EOFError
        from.close
      end
    end
    [to, thread]
  end

  def gone_within(seconds)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    while id
      return false if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep 0.02
    end
    true
  end
end

root, command, job, *flags = ARGV
process = job
extra = {}
until flags.empty?
  flag, value = flags.shift(2)
  case flag
  when '-p' then process = value
  when '-e' then extra.store(*value.split('=', 2))
  else abort "Error: unknown flag: #{flag}"
  end
end

begin
  member = Member.new(root, job, process, extra)
  case command
  when 'start' then member.start
  when 'run' then exit member.run
  when 'stop' then member.stop
  when 'pid' then puts member.id || abort('Error: process is not running or could not be found')
  else abort "Error: unknown command #{command.inspect} for \"bpm\""
  end
rescue Refused, SystemCallError => e
  abort "Error: #{e.message}"
end
