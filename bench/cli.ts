import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generateOffers } from '../demo/offers.ts'
import { startEntrepot } from './children.ts'
import type { Bench, TableRow } from './table.ts'

const RUNS = 15
const REGISTRIES = 3
const LISTINGS = 100
const BIN = fileURLToPath(new URL('../src/bin.ts', import.meta.url))
/** A public Anvil account, without money. */
const KEY = '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'

export const cli: Bench = {
  name: 'cli',
  what: `the complete process of a command: median of ${RUNS} runs; listings over ${REGISTRIES} local Registries of ${LISTINGS} listings each`,
  run: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'entrepot-bench-cli-'))
    const config = join(folder, 'gateway.toml')
    const offers = join(folder, 'offers.json')
    writeFileSync(config, '[limits]\npublish_per_minute = 0\nlistings_per_publisher = 0\n')
    writeFileSync(offers, JSON.stringify(generateOffers('bench', LISTINGS)))
    const environment = { STORE_URL: 'sqlite::memory:', LOG_LEVEL: 'info', ENTREPOT_CONFIG: config }
    const registries = await Promise.all(Array.from({ length: REGISTRIES }, () => startEntrepot(environment)))
    const urls = registries.map(({ url }) => url).join()
    try {
      run(['publish', offers, '-r', urls], { ENTREPOT_PRIVATE_KEY: KEY })
      return [
        measure('--help', ['--help'], 0.3),
        measure('listings', ['listings', '-r', urls], 0.5),
        measure('listings --filter', ['listings', '-r', urls, '--filter', 'gpu_model=H200'], null),
      ]
    } finally {
      for (const { close } of registries) await close()
      rmSync(folder, { recursive: true })
    }
  },
}

function measure(command: string, args: readonly string[], budget: number | null): TableRow {
  const seconds = Array.from({ length: RUNS }, () => run(args)).sort((a, b) => a - b)
  return {
    command,
    'median s': seconds[Math.floor(RUNS / 2)]!,
    'slowest s': seconds.at(-1)!,
    'budget s': budget ?? '',
  }
}

/** Seconds of the process. */
function run(args: readonly string[], environment: Record<string, string> = {}): number {
  const started = performance.now()
  const { status, stderr } = spawnSync(process.execPath, [BIN, ...args], {
    env: { ...process.env, ...environment },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${args[0]} ended with ${status}: ${stderr}`)
  return (performance.now() - started) / 1000
}
