import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createClient } from '../src/client/client.ts'
import { REGISTRY_NAMES, type RegistryName } from './fill-market.ts'
import type { DemoMarket } from './market.ts'
import { hostileOffers } from './offers.ts'

export const KEYS = `Keys, each with what to look at: 1, 2, 3 stop and start ${REGISTRY_NAMES.join(', ')}; s slows ${REGISTRY_NAMES[2]}, or ends that;
h adds a hostile seller; q or Ctrl-C stops all.
`

/** What a key does, and what to look at then; `null` for a key that does nothing. */
export async function press(key: string, market: DemoMarket): Promise<string | null> {
  const name = REGISTRY_NAMES[Number(key) - 1]
  if (name !== undefined) return stopOrStart(name, market)
  if (key === 's') return slowOrQuicken(REGISTRY_NAMES[2], market)
  return key === 'h' ? addHostileSeller(market) : null
}

async function stopOrStart(name: RegistryName, { processes, gateway }: DemoMarket): Promise<string> {
  const registry = processes[name]
  const key = REGISTRY_NAMES.indexOf(name) + 1
  if (!registry.isRunning) {
    await registry.start()
    return `${name} runs again.
  ${gateway}/operator   its change of state is in the list; the circuit breaker closes after two probes
`
  }
  await registry.stop()
  return `${name} is killed. In a few seconds:
  ${gateway}/   "${name}: copy from … ago" in amber: its listings stay, each with its mark, and nothing looks like "nothing found"
  ${gateway}/operator   the reason, and when it is tried again
  curl -s '${gateway}/facets?by=registry'   its state is stale, with an age
  Agents begin with "Nothing missing, but not all live". ${key} starts it again.
`
}

function slowOrQuicken(name: RegistryName, { processes, gateway }: DemoMarket): string {
  const registry = processes[name]
  if (!registry.isRunning) return `${name} is not running.\n`
  if (registry.isSlow) {
    registry.quicken()
    return `${name} is fast again.\n`
  }
  registry.slow()
  return `${name} now answers after a second or two.
  ${gateway}/   as fast as before: its listings are in the gateway's memory
  ${gateway}/operator   its latency grows
  npm run -s entrepot -- listings -r ${registry.url} --limit 1 --table   without the gateway a reader waits
`
}

async function addHostileSeller({ processes, registries, gateway }: DemoMarket): Promise<string> {
  if (!processes['open-market'].isRunning)
    return `open-market is not running, so a hostile seller cannot publish there: ${REGISTRY_NAMES.indexOf('open-market') + 1} starts it again.\n`
  const account = privateKeyToAccount(generatePrivateKey())
  const client = createClient({ url: registries['open-market'], apiKey: null, account })
  for (const offer of hostileOffers(account.address)) await client.publish(offer)
  return `A hostile seller has published at open-market.
  ${gateway}/?gpu=H200&sort=price   an H200 for 0.000001 is marked, and comes last; text that acts on a page stays text
  curl -s '${gateway}/facets?gpu=H200'   summary and prices leave it out, and say so
  Agents see no line of it, and a seller's words in quotes.
`
}
