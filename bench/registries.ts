import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Child, servedCounts, startChild } from './children.ts'
import { randomFrom } from './generate-listings.ts'
import { percentile, randomFilters } from './index.ts'
import { benchGatewayToml, startBenchGateway } from './start-gateway.ts'
import type { Bench, TableRow } from './table.ts'

/** `BENCH_REGISTRIES=100x200` is a smaller run. */
const [REGISTRIES = 1000, LISTINGS = 1000] = (process.env.BENCH_REGISTRIES ?? '')
  .split('x', 2)
  .flatMap((text) => Number(text) || [])
const ROUNDS = 10
const QUESTIONS = 100
const WARM_UP = 50
/** Longer than a full period. */
const PULLING_SECONDS = 70
const AT_REST = 'refresh_seconds = 3600\nfull_refresh_seconds = 3600'
const CHANGES_A_SECOND = 10

export const registries: Bench = {
  name: 'registries',
  what: `new questions to a gateway over ${REGISTRIES.toLocaleString('en')} Registries × ${LISTINGS.toLocaleString('en')} listings, every tenth a worse copy, against one over a Registry of as many, in turns; their first pull, and memory; then the same with pulls`,
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
    const many = await startRegistries(REGISTRIES, LISTINGS, 0, 0, 0, 1)
    const one = await startRegistries(1, REGISTRIES * LISTINGS)
    try {
      const rest = await atRest(folder, many, one)
      await one.close()
      return [...rest, ...(await memory(folder, many)), ...(await pulling(folder))]
    } finally {
      for (const child of [many, one]) await child.close()
      await rm(folder, { recursive: true })
    }
  },
}

const script = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url))
const startRegistries = (...args: number[]): Promise<Child> =>
  startChild([script('scripted-registries.ts'), ...args.map(String)])
const basesOf = ({ url }: Child, count = REGISTRIES): string[] =>
  Array.from({ length: count }, (_, n) => `${url}/registry-${n}`)

async function atRest(folder: string, many: Child, one: Child): Promise<TableRow[]> {
  const overOne = await startHeld(folder, basesOf(one, 1))
  const overMany = await startHeld(folder, basesOf(many))
  try {
    const times = { many: [] as number[], one: [] as number[] }
    for (const { gateway } of [overOne, overMany]) await ask(gateway, WARM_UP)
    for (let round = 0; round < ROUNDS; round++) {
      times.one.push(...(await ask(overOne.gateway, QUESTIONS)))
      times.many.push(...(await ask(overMany.gateway, QUESTIONS)))
    }
    const rows = [0.5, 0.99].flatMap((share) => {
      const [ofOne, ofMany] = [times.one, times.many].map((all) =>
        percentile(
          all.toSorted((a, b) => a - b),
          share,
        ),
      )
      const name = `p${share * 100}`
      return [
        { measure: `at rest, new question over one, ${name}`, value: ofOne!, unit: 'ms' },
        { measure: `at rest, new question over many, ${name}`, value: ofMany!, unit: 'ms' },
        { measure: `at rest, many against one, ${name}`, value: ofMany! / ofOne!, unit: '×', budget: '2' },
      ]
    })
    return [
      { measure: 'from the start to a first answer', value: overMany.firstMs / 1000, unit: 's' },
      { measure: 'from the start to a complete answer', value: overMany.completeMs / 1000, unit: 's' },
      { measure: 'complete answer over one', value: overOne.completeMs / 1000, unit: 's' },
      ...rows,
    ]
  } finally {
    for (const { gateway } of [overOne, overMany]) await gateway.close()
  }
}

/** Growth of heap and external memory by what is held. */
async function memory(folder: string, many: Child): Promise<TableRow[]> {
  const { listingBytes } = await servedCounts(many)
  const config = join(folder, 'gateway.toml')
  await writeFile(config, benchGatewayToml(basesOf(many), AT_REST))
  const args = ['--expose-gc', script('held-process.ts'), config, '1']
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const [growth = 0] = JSON.parse(stdout) as number[]
  return [
    { measure: 'memory of a listing', value: growth / listingBytes, unit: '× its bytes', budget: '1.7' },
    { measure: 'listing', value: listingBytes / REGISTRIES / LISTINGS, unit: 'bytes' },
  ]
}

/** With the usual periods, changes and a question at a time. */
async function pulling(folder: string): Promise<TableRow[]> {
  const many = await startRegistries(REGISTRIES, LISTINGS, 0, 0, CHANGES_A_SECOND, 1)
  const { gateway } = await startHeld(folder, basesOf(many), '')
  try {
    const before = await servedCounts(many)
    const started = performance.now()
    const times: number[] = []
    while (performance.now() - started < PULLING_SECONDS * 1000) {
      times.push(...(await ask(gateway, 10)))
      await delay(100)
    }
    const hours = (performance.now() - started) / 3_600_000
    const after = await servedCounts(many)
    const sorted = times.toSorted((a, b) => a - b)
    return [
      { measure: 'with pulls, new question over many, p50', value: percentile(sorted, 0.5), unit: 'ms' },
      { measure: 'with pulls, new question over many, p99', value: percentile(sorted, 0.99), unit: 'ms' },
      { measure: 'an hour', value: (after.requests - before.requests) / hours, unit: 'requests' },
      { measure: 'an hour, received', value: (after.sent - before.sent) / hours / 1e6, unit: 'MB' },
    ]
  } finally {
    for (const child of [gateway, many]) await child.close()
  }
}

type Held = { gateway: Child; firstMs: number; completeMs: number }

/** A gateway that has answered completely. */
async function startHeld(folder: string, bases: readonly string[], settings = AT_REST): Promise<Held> {
  const started = performance.now()
  const gateway = await startBenchGateway(folder, bases, { settings })
  let firstMs: number | null = null
  for (;;) {
    const response = await fetch(`${gateway.url}/listings?limit=1`)
    const text = await response.text()
    const now = performance.now() - started
    if (response.ok && !text.startsWith('{"items":[]')) firstMs ??= now
    if (text.includes('"complete":true')) return { gateway, firstMs: firstMs ?? now, completeMs: now }
    await delay(50)
  }
}

const random = randomFrom(11)
let asked = 0

/** Milliseconds of each of so many questions that were not asked before, one after the other. */
async function ask({ url }: Child, count: number): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < count; n++) {
    const filters = randomFilters(random, 2).set('vcpu_count_min', `-${++asked}`)
    const started = performance.now()
    const response = await fetch(`${url}/listings?${new URLSearchParams([...filters, ['limit', '50']])}`)
    const text = await response.text()
    times.push(performance.now() - started)
    if (!text.includes('"complete":true')) throw new Error(`${response.status} ${text.slice(-1000)}`)
  }
  return times
}
