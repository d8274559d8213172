import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A program that tests need, and its source. */
type Program = {
  /** For the error: `No Redis`. */
  missing: string
  /** Names, any of which is enough. */
  names: readonly string[]
  /** The Debian package of the first one. */
  package: string
  /** The alternative: `set REDIS_URL`. */
  otherwise: string
}

/**
 * The path of a program, installed from Debian's packages if it is missing. Never a silent skip.
 * @throws Error of one line that says what to install
 */
export async function installedProgram(program: Program): Promise<string> {
  const found = await onPath(program)
  if (found !== null) return found
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0)
    throw new Error(`${program.missing}: install ${program.names.join(' or ')}, or ${program.otherwise}`)
  await install(program).catch((cause) => {
    throw new Error(
      `${program.missing}: apt-get could not install ${program.package}; ${program.otherwise}`,
      { cause },
    )
  })
  const installed = await onPath(program)
  if (installed === null)
    throw new Error(`${program.missing}: apt-get installed ${program.package}, but it is not on PATH`)
  return installed
}

async function onPath({ names }: Program): Promise<string | null> {
  for (const name of names) {
    const found = await run('sh', ['-c', 'command -v "$1"', 'sh', name]).catch(() => null)
    if (found !== null) return found.stdout.trim()
  }
  return null
}

/**
 * Only the program: a package's own service is not started (`RUNLEVEL` for invoke-rc.d), and stopped if it was. Test files
 * run in separate processes, so one installs and the others wait at one lock, since apt runs once at a time.
 */
async function install({ names, package: name }: Program): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const lock = join(tmpdir(), 'entrepot-install.lock')
  await run('flock', [lock, 'sh', '-c', INSTALL, 'sh', name, names[0]!], { env, maxBuffer: MAX_OUTPUT_BYTES })
}

const MAX_OUTPUT_BYTES = 16 * 1024 * 1024

const INSTALL = `
command -v "$2" >/dev/null && exit
apt-get update -q && apt-get install -y -q --no-install-recommends "$1" || exit
service "$1" stop || true # it is not running, or there is no such command
`
