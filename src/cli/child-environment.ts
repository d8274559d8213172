import { SECRETS } from '../config/secret-files.ts'
import type { Terminal } from './output/terminal.ts'

const WITHHELD: ReadonlySet<string> = new Set([
  ...SECRETS,
  'ENTREPOT_PRIVATE_KEY',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
])

/** For a program that the user names: without the secrets of this one. */
export function childEnvironment({ env }: Pick<Terminal, 'env'>): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !WITHHELD.has(name)))
}
