import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { servedCounts, startChild } from './children.ts'
import { benchGatewayToml } from './start-gateway.ts'
import type { Bench, TableRow } from './table.ts'

const UPSTREAMS = 20
const LISTINGS = 10_000
/** Of all together, so that each whole pull finds some. */
const CHANGES_A_SECOND = 100
const PULLS = 3
/** Pulls begin only when the bench asks for them. */
const PERIODS = 'refresh_seconds = 3600\nfull_refresh_seconds = 3600'

export const held: Bench = {
  name: 'held',
  what: `memory of ${UPSTREAMS} upstreams × ${LISTINGS.toLocaleString('en')} listings, after the first pull and further whole ones with changes: growth of heap and external memory (with array buffers), against the bytes of the listings`,
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
    const script = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url))
    const upstreams = await startChild([
      script('scripted-registries.ts'),
      ...[UPSTREAMS, LISTINGS, 0, 0, CHANGES_A_SECOND].map(String),
    ])
    try {
      const config = join(folder, 'gateway.toml')
      const bases = Array.from({ length: UPSTREAMS }, (_, n) => `${upstreams.url}/registry-${n}`)
      await writeFile(config, benchGatewayToml(bases, PERIODS))
      const { listingBytes } = await servedCounts(upstreams)
      const args = ['--expose-gc', script('held-process.ts'), config, String(PULLS)]
      const { stdout } = await promisify(execFile)(process.execPath, args)
      return (JSON.parse(stdout) as number[]).map(
        (bytes, n): TableRow => ({
          'whole pulls': n + 1,
          'listing MB': listingBytes / 1e6,
          'memory MB': bytes / 1e6,
          ratio: bytes / listingBytes,
          budget: '1.6',
        }),
      )
    } finally {
      await upstreams.close()
      await rm(folder, { recursive: true })
    }
  },
}
