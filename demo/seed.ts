import { readFileSync } from 'node:fs'
import { fillMarket, REGISTRY_NAMES, type RegistryName } from './fill-market.ts'

/**
 * Fills the demo's three Registries when they run as containers (`docker-compose.yml`, profile demo), at `OPEN_MARKET_URL`,
 * `CURATED_URL` and `CO_LOCATED_URL`. `CURATED_KEY_FILE` holds the key of the curated one.
 */
async function main(): Promise<void> {
  const key = readFileSync(setting('CURATED_KEY_FILE'), 'utf8').trim()
  const registries = Object.fromEntries(REGISTRY_NAMES.map((name) => [name, setting(variable(name))]))
  const counts = await Promise.all(
    REGISTRY_NAMES.map((name) => countListings(registries[name]!, name === 'curated' ? key : null)),
  )
  if (counts.some((count) => count > 0))
    return print(`the Registries have listings already: ${counts.join(', ')}`)
  print(`published ${await fillMarket(registries as Record<RegistryName, string>, key)} listings`)
}

const variable = (name: RegistryName): string => `${name.replaceAll('-', '_').toUpperCase()}_URL`

function setting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set`)
  return value
}

async function countListings(url: string, key: string | null): Promise<number> {
  const headers: Record<string, string> = key === null ? {} : { Authorization: `Bearer ${key}` }
  const answer = await fetch(`${url}/listings?limit=1`, { headers })
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`)
  return ((await answer.json()) as { total_after_filter: number }).total_after_filter
}

const print = (text: string): void => void process.stderr.write(`seed: ${text}\n`)

await main()
