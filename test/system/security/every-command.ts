import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { runCli } from '../../helpers/run-cli.ts'
import type { LeakSearch } from './leak-search.ts'
import { inPairs } from './process-output.ts'

type Commands = {
  url: string
  folder: string
  leaks: LeakSearch
  admin: string
  readKey: string
  writeKey: string
  wrongKey: string
  privateKey: string
}

/** The command line as a buyer, a seller and the operator use it, with good and bad keys. */
export async function runCommands(t: ExecutionContext, given: Commands): Promise<void> {
  const { url, folder, leaks, admin, readKey, writeKey, wrongKey, privateKey } = given
  const offer = join(folder, 'offer.json')
  writeFileSync(
    offer,
    JSON.stringify({ listing_id: 'by-cli', storefront_url: 'https://a.example/', offer_resource: {} }),
  )
  const keyFile = join(folder, 'key')
  writeFileSync(keyFile, `${privateKey}\n`, { mode: 0o600 })
  const buyer = (name: string, auth: Record<string, string>): string => {
    const home = join(folder, name)
    mkdirSync(join(home, 'arkhai'), { recursive: true })
    const lines = Object.entries(auth).map(([at, key]) => `"${at}" = "${key}"`)
    writeFileSync(
      join(home, 'arkhai', 'buyer.toml'),
      `[registry]\nurls = ["${url}", "http://127.0.0.1:9"]\n[registry.auth]\n${lines.join('\n')}\n`,
    )
    return home
  }
  const good = { XDG_CONFIG_HOME: buyer('good', { [url]: writeKey }) }
  const bad = { XDG_CONFIG_HOME: buyer('bad', { [url]: wrongKey, 'http://127.0.0.1:9': readKey }) }
  const near = {
    XDG_CONFIG_HOME: buyer('near', { [`${url}/`]: readKey, [url.replace('http', 'HTTP')]: writeKey }),
  }
  const runs: readonly [args: string[], env: Record<string, string>][] = [
    ...[good, bad, near].flatMap((env): [string[], Record<string, string>][] => [
      [['listings', '--json'], env],
      [['facets'], env],
      [['filters'], env],
      [['sources'], env],
      [['doctor'], env],
    ]),
    [['listing', 'good-0001'], good],
    [['review', 'good-0001'], good],
    [['publish', offer, '--as-is', '-r', url], { ...good, ENTREPOT_PRIVATE_KEY: privateKey }],
    [['update', 'by-cli', '--status', 'closed', '-r', url, '--key-file', keyFile], bad],
    [['delete', 'by-cli', '-r', url], { ...bad, ENTREPOT_PRIVATE_KEY: `${privateKey}00` }],
    [['publish', offer, '-r', url, '--key-file', keyFile, '--surprise'], good],
    [['sync', offer, '-r', url, '--key-file', keyFile, '--dry-run', '--as-is'], good],
    [['mine', '-r', url, '--key-file', keyFile], good],
    [['close', '--all', '-r', url, '--key-file', keyFile, '--dry-run'], good],
    [['wallet', 'address', '--key-file', keyFile], good],
    [['keys', 'list', '-r', url], { REGISTRY_ADMIN_API_KEY: admin }],
    [['audit', '--since', '1d', '-r', url], { REGISTRY_ADMIN_API_KEY: admin }],
    [['keys', 'list', '-r', url], { REGISTRY_ADMIN_API_KEY: wrongKey }],
    [['keys', 'mint', 'x', '-r', 'http://127.0.0.1:9'], { REGISTRY_ADMIN_API_KEY: admin }],
  ]
  await inPairs(runs, async ([args, env]) => {
    const { stdout, stderr } = await runCli(args, { env })
    leaks.addText(`entrepot ${args.join(' ')}`, `${stdout}\n${stderr}`)
  })
  const minted = await runCli(['keys', 'mint', 'by-cli', '-r', url], {
    env: { REGISTRY_ADMIN_API_KEY: admin },
  })
  t.is(minted.code, 0)
  leaks.addText('entrepot keys mint: stderr', minted.stderr)
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'search_listings', arguments: {} },
  }
  const agent = await runCli(['mcp'], { env: bad, input: `${JSON.stringify(call)}\n` })
  leaks.addText('entrepot mcp', `${agent.stdout}\n${agent.stderr}`)
}
