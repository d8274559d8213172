import { SECRETS } from '../config/secret-files.ts'
import type { Terminal } from './terminal.ts'

/** From JSON array to JSON array. */
export type RunPolicy = (
  array: string,
  limits: { timeoutMs: number; maxBytes: number },
  terminal: Terminal,
) => Promise<string>

const WITHHELD: ReadonlySet<string> = new Set([
  ...SECRETS,
  'ENTREPOT_PRIVATE_KEY',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
])

/** Without the secrets of this program. */
export function policyEnvironment({ env }: Pick<Terminal, 'env'>): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !WITHHELD.has(name)))
}
