import type { Discovery } from '../gateway/discovery.ts'
import { discoverRegistries } from './discover-registries.ts'
import { EXIT, type ExitCode } from './exit.ts'
import type { Market } from './market.ts'
import { type RegistryOptions, selectRegistries } from './select-registries.ts'
import { type Terminal, tell } from './terminal.ts'

export type ServeAgents = (discovery: Discovery, terminal: Terminal) => Promise<void>

export async function agents(
  terminal: Terminal,
  market: Market,
  options: RegistryOptions,
  serve: ServeAgents,
): Promise<ExitCode> {
  const { registries, discoveryTimeoutMs } = selectRegistries(terminal, options)
  tell(terminal, `[mcp] serving ${registries.map(({ url }) => url).join(', ')} on stdin and stdout`)
  await serve(discoverRegistries(market, registries, discoveryTimeoutMs), terminal)
  return EXIT.ok
}
