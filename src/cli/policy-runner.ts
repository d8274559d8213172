import { SECRETS } from '../config/secret-files.ts'
import type { Terminal } from './terminal.ts'

/** Runs a policy outside of this program: takes the array's JSON, gives the policy's JSON. */
export type RunPolicy = (
  array: string,
  limits: { timeoutMs: number; maxBytes: number },
  terminal: Terminal,
) => Promise<string>

/** Variables that hold secrets of this program, or may. */
const WITHHELD: ReadonlySet<string> = new Set([
  ...SECRETS,
  'ENTREPOT_PRIVATE_KEY',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
])

/** The environment of policies: that of this program without its secrets. */
export function policyEnvironment({ env }: Pick<Terminal, 'env'>): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !WITHHELD.has(name)))
}
