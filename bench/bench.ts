import { spawnSync } from 'node:child_process'
import { changes } from './changes.ts'
import { cli } from './cli.ts'
import { cold } from './cold.ts'
import { gatewayHot } from './gateway-hot.ts'
import { held } from './held.ts'
import { index } from './index.ts'
import { indexPrice } from './index-price.ts'
import { load } from './load-store.ts'
import { mixed } from './mixed.ts'
import { publishBench } from './publish.ts'
import { read } from './read.ts'
import { registries } from './registries.ts'
import { signed } from './signed.ts'
import { snapshot } from './snapshot.ts'
import { stream } from './stream.ts'
import { type Bench, renderTable } from './table.ts'
import { vocabulary } from './vocabulary.ts'

const BENCHES: readonly Bench[] = [
  index,
  indexPrice,
  vocabulary,
  load,
  read,
  publishBench,
  signed,
  mixed,
  gatewayHot,
  cold,
  snapshot,
  held,
  registries,
  stream,
  changes,
  cli,
]

async function main(names: readonly string[]): Promise<void> {
  const unknown = names.filter((name) => !BENCHES.some((bench) => bench.name === name))
  if (unknown.length > 0) {
    process.stderr.write(`unknown bench: ${unknown}. Benches: ${BENCHES.map(({ name }) => name)}\n`)
    process.exitCode = 1
    return
  }
  for (const { name, what, needs = [], run } of BENCHES) {
    if (names.length > 0 && !names.includes(name)) continue
    const missing = needs.filter((program) => !isOnPath(program))
    const result =
      missing.length > 0
        ? `skipped: needs ${missing.join(', ')} (apt-get install ${missing.join(' ')})\n`
        : renderTable(await run())
    process.stdout.write(`${name}: ${what}\n\n${result}\n`)
  }
}

function isOnPath(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined
}

await main(process.argv.slice(2))
