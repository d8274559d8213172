import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Bench, TableRow } from './table.ts'

/** The default of `[cache] max_bytes`: garbage is a constant, and a larger share of a smaller cache. */
const MAX_BYTES = 256 * 1024 * 1024
/** Few large answers, then many small ones. */
const CASES = [
  { questions: 20_000, listings: 50 },
  { questions: 300_000, listings: 1 },
]

export const churn: Bench = {
  name: 'churn',
  what: `distinct queries through the cache of one upstream with max_bytes ${MAX_BYTES / 1024 / 1024} MiB: added resident memory`,
  run: async () => {
    const rows: TableRow[] = []
    for (const one of CASES) rows.push(await measure(one))
    return rows
  },
}

async function measure({ questions, listings }: (typeof CASES)[number]): Promise<TableRow> {
  const script = fileURLToPath(new URL('./churn-process.ts', import.meta.url))
  const args = ['--expose-gc', script, ...[questions, listings, MAX_BYTES].map(String)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { counted, resident } = JSON.parse(stdout) as { counted: number; resident: number }
  return {
    questions,
    'listings each': listings,
    'counted, MiB': counted / 1024 / 1024,
    'resident, MiB': resident / 1024 / 1024,
    'of max_bytes': resident / MAX_BYTES,
    budget: '1.2',
  }
}
