import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** A program that tests start, and where it comes from. */
export type Program = {
  /** Names, any of which is enough. */
  names: readonly string[]
  /** Its Debian package. */
  package: string
  /** The service that this package starts, and that no test uses. */
  service?: string
  /** An environment variable that names another one, if there is such a variable. */
  variable?: string
}

export const PROGRAMS = {
  redis: { names: ['redis-server', 'valkey-server'], package: 'redis-server', service: 'redis-server' },
  nginx: { names: ['nginx'], package: 'nginx-light', service: 'nginx' },
  chromium: {
    names: ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'],
    package: 'chromium-headless-shell',
    variable: 'CHROME_PATH',
  },
  python: { names: ['python3'], package: 'python3' },
  prlimit: { names: ['prlimit'], package: 'util-linux' },
  systemd: { names: ['systemd-analyze'], package: 'systemd' },
} as const satisfies Record<string, Program>

/**
 * The path of a program.
 * @throws Error of one line that says what to install: a test that needs a program fails without it
 */
export function programPath(name: keyof typeof PROGRAMS): string {
  const program: Program = PROGRAMS[name]
  const path = findProgram(program)
  if (path === null) throw new Error(`${program.names[0]} is missing: ${advice(program)}`)
  return path
}

export function findProgram({ names, variable }: Program): string | null {
  const given = variable === undefined ? '' : (process.env[variable] ?? '')
  if (given !== '') return given
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...SYSTEM_FOLDERS]
  const paths = names.flatMap((name) => folders.map((folder) => join(folder, name)))
  return paths.find(isExecutable) ?? null
}

/** What a person has to do where nothing can be installed. */
export const advice = ({ names, package: name, variable }: Program): string =>
  `install ${names.join(' or ')} (Debian: apt-get install ${name})${variable === undefined ? '' : `, or set ${variable}`}`

/** Servers are there, which is not on the PATH of every user. */
const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/sbin']

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
