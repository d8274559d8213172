import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { advice, findProgram, PROGRAMS, type Program } from '../test/helpers/programs.ts'

/**
 * `npm run test:programs` finds the programs that `npm run test:all` starts, and installs the missing ones on Debian as root.
 * Elsewhere it says what to install, and the tests that need a missing program fail.
 */
const programs = Object.values<Program>(PROGRAMS)
const missing = programs.filter((program) => findProgram(program) === null)
if (missing.length > 0 && existsSync('/etc/debian_version') && process.getuid?.() === 0) install(missing)
for (const program of programs) {
  const path = findProgram(program)
  process.stdout.write(path === null ? `missing: ${advice(program)}\n` : `uses ${path}\n`)
}

/** Only the programs: a package's own service is not started (`RUNLEVEL` for invoke-rc.d), and stopped if it was. */
function install(absent: readonly Program[]): void {
  const packages = absent.map((program) => program.package)
  process.stdout.write(`installs ${packages.join(', ')}\n`)
  run('apt-get', 'update', '-q')
  run('apt-get', 'install', '-y', '-q', '--no-install-recommends', ...packages)
  for (const { service } of absent) if (service !== undefined) run('service', service, 'stop')
}

/** A command that fails is named, and leaves its program missing. */
function run(command: string, ...args: string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const { status } = spawnSync(command, args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) process.stdout.write(`failed: ${command} ${args.join(' ')}\n`)
}
