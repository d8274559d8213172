import { readFileSync, writeFileSync } from 'node:fs'
import { BUDGET_MS, FAULT_CASES, type FaultCase, type Kept } from '../test/e2e/fault-cases.ts'

/** Run by `npm run docs`: writes `docs/reliability.md` from the rows that `test/e2e/fault-matrix.test.ts` holds true. */

export const RELIABILITY_DOCS = 'docs/reliability.md'

/** What `docs/reliability.md` should say. */
export const renderReliability = (): string =>
  [
    INTRODUCTION,
    ...MODES.flatMap((mode) => [MODE_TEXTS[mode], ...KEPT.map((kept) => section(mode, kept))]),
  ].join('\n')

export const readReliability = (): string => readFileSync(RELIABILITY_DOCS, 'utf8')

type Mode = FaultCase[0]

const MODES = ['live', 'snapshot'] as const satisfies readonly Mode[]
const KEPT = ['none', 'fresh', 'stale'] as const satisfies readonly Kept[]

const INTRODUCTION = `# When an upstream fails

Written by \`npm run docs\` from the rows of \`test/e2e/fault-cases.ts\`; \`test/e2e/fault-matrix.test.ts\` checks each
of them with a real gateway over a real, scripted Registry. A row is the answer to a reader who asks that upstream alone
(\`GET /listings?sources=NAME\`): the status, \`complete\`, the upstream's \`state\` and \`reason\` in \`sources\`, the
number of items, the requests for listings that went to the upstream since it began to fail, and the longest time of the
answer. The gateway of the matrix has a budget of ${BUDGET_MS} ms. A reader who asks several sources gets what the others
have, with \`complete: false\` where one is \`unavailable\`.

- **one listing answers 500**: every page with that listing is a 500. It is left out and counted as \`invalid\`. An
  upstream that serves no single listing either is down; its circuit breaker opens after five failures in a row.
- **pages of two Registries**: pages do not join, as behind a load balancer over two Registries that differ.
- **oldest first**: more listings than \`scan_limit\`, not sorted newest first. Up to \`scan_limit\` they are sorted here.
`

const MODE_TEXTS: Readonly<Record<Mode, string>> = {
  live: `## mode = "live"

Every query is sent to the upstream, and the answer is cached. A refusal (401, 403, 412) ends that: what the upstream
showed before is not shown in its place. After any other failure the cached answer is shown as \`stale\`.
`,
  snapshot: `## mode = "snapshot"

All open listings are pulled every \`refresh_seconds\`, plus or minus a tenth, and queries are answered from memory: no
reader waits for the upstream, and every filter is exact.

- A Registry is pulled in pages that overlap by ten listings. A page has to contain a listing of the page before it;
  otherwise it is requested again from further back. So nothing that was open all the time is missed while others come
  and go. A gateway is pulled as one NDJSON stream. A pull is shown whole or not at all.
- A pull that fails changes nothing but the age (\`age_seconds\`) of the snapshot. After two periods without a whole pull
  it is \`stale\`, with the reason of the latest failure. It is shown for as long as the upstream is away, and pulled
  again after the period, or after 15 s if that is sooner. A 401 or 403 hides it until the upstream accepts the key again.
- The snapshot is saved with the store, once a minute at most and when the service ends: with SQLite beside the
  database (\`PATH-snapshots/NAME.json\`, readable by its owner only), with Redis under \`entrepot:snapshot:NAME\`,
  compressed, for a week, and only if it fits the upstream's part of \`cache.max_bytes\`. After a restart with the same
  URL, kind and key it is there at once, \`stale\` until the first pull ends.
- An upstream with more than \`max_listings\`, or more bytes of them than half of its part of \`cache.max_bytes\`, is asked
  live until it has fewer. The log says so once; its \`mode\` is \`live\` and its last error \`too_large\`.
- Listings that are not open are asked live, and so are one publisher's while an address is not known.
`,
}

const KEPT_TEXTS: Readonly<Record<Mode, Readonly<Record<Kept, string>>>> = {
  live: {
    none: 'nothing is cached',
    fresh: 'the same was asked less than 15 s ago',
    stale: 'the same was asked 75 s ago',
  },
  snapshot: {
    none: 'the first pull fails',
    fresh: 'the latest pull fails',
    stale: 'no pull has succeeded for two periods',
  },
}

function section(mode: Mode, kept: Kept): string {
  const rows = FAULT_CASES.filter(([ofMode, ofKept]) => ofMode === mode && ofKept === kept)
  const cells = rows.map(([, , fault, status, complete, state, reason, items, calls, withinMs]) =>
    [fault, status, complete, state, reason, items, calls, `${withinMs} ms`].map((cell) => cell ?? '–'),
  )
  const lines = [COLUMNS, COLUMNS.map(() => '---'), ...cells].map((line) => `| ${line.join(' | ')} |\n`)
  return `### ${mode}, ${KEPT_TEXTS[mode][kept]}\n\n${lines.join('')}`
}

const COLUMNS = ['fault', 'status', 'complete', 'state', 'reason', 'items', 'calls', 'within']

if (import.meta.main) writeFileSync(RELIABILITY_DOCS, renderReliability())
