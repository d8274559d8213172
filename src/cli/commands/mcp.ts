import type { Discovery } from '../../gateway/discovery.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { printStatus, type Terminal } from '../output/terminal.ts'
import { discoverRegistries } from '../registries/discover-registries.ts'
import type { RegistryClient } from '../registries/registry-client.ts'
import { type RegistryOptions, selectRegistries } from '../registries/select-registries.ts'

export type ServeAgents = (discovery: Discovery, terminal: Terminal) => Promise<void>

export async function agents(
  terminal: Terminal,
  client: RegistryClient,
  options: RegistryOptions,
  serve: ServeAgents,
): Promise<ExitCode> {
  const { registries, discoveryTimeoutMs } = selectRegistries(terminal, options)
  printStatus(terminal, `[mcp] serving ${registries.map(({ url }) => url).join(', ')} on stdin and stdout`)
  await serve(discoverRegistries(client, registries, discoveryTimeoutMs), terminal)
  return EXIT.ok
}
