import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Child, startEntrepot } from './children.ts'

type BenchGatewayOptions = { storeUrl?: string; settings?: string }

/**
 * A pure gateway over upstreams at these URLs; its configuration is written to `folder`. `settings`: further lines of each
 * upstream.
 */
export async function startBenchGateway(
  folder: string,
  bases: readonly string[],
  { storeUrl = 'sqlite::memory:', settings = '' }: BenchGatewayOptions = {},
): Promise<Child> {
  const config = join(folder, 'gateway.toml')
  await writeFile(config, benchGatewayToml(bases, settings))
  return startEntrepot({ STORE_URL: storeUrl, ENTREPOT_CONFIG: config })
}

/** @param settings further lines of each `[[upstreams]]` table */
export function benchGatewayToml(bases: readonly string[], settings: string): string {
  const tables = bases.map(
    (url, n) =>
      `[[upstreams]]\nname = "upstream-${n}"\nurl = "${url}"\nallow_private_addresses = true\n${settings}\n`,
  )
  return tables.join('\n')
}

export type SourceState = { registry: string; mode?: string; state: string; age_seconds: number | null }

export async function upstreamStates(
  gateway: string,
  headers: Record<string, string> = {},
): Promise<SourceState[]> {
  const { sources } = (await (await fetch(`${gateway}/sources?limit=1000`, { headers })).json()) as {
    sources: SourceState[]
  }
  return sources.filter(({ mode }) => mode !== 'local')
}

/** Resolves when every upstream answers from memory. */
export async function whenHeld(gateway: string, headers: Record<string, string> = {}): Promise<void> {
  const isHeld = ({ state }: SourceState): boolean => state === 'loaded'
  while (!(await upstreamStates(gateway, headers)).every(isHeld)) await delay(200)
}
