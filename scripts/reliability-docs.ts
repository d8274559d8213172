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

Written by \`npm run docs\` from the rows of \`test/e2e/fault-cases.ts\`; \`test/e2e/fault-matrix.test.ts\` holds each of
them true with a real gateway over a real, scripted Registry. A row tells what a reader gets who asks that upstream alone
(\`GET /listings?sources=NAME\`): the status, \`complete\`, the upstream's \`state\` and \`reason\` in \`sources\`, how many
items, how many requests for listings went to the upstream since it began to fail, and within what time. The gateway of
the matrix has a budget of ${BUDGET_MS} ms. A reader who asks several sources gets what the others have, with
\`complete: false\` where one is \`unavailable\`.
`

const MODE_TEXTS: Readonly<Record<Mode, string>> = {
  live: `## mode = "live"

Every query is sent on, and what comes is kept. An upstream that answers with a no (401, 403, 412) is heard: what it
said before is not shown in its place. Anything else that goes wrong shows what is kept, as \`stale\`.
`,
  snapshot: `## mode = "snapshot"

All open listings are pulled every \`refresh_seconds\`, more or less a tenth, and queries are answered from memory: no
reader ever waits for the upstream, and any filter is answered exactly.

- Pages of one pull overlap by ten listings. Each has to begin with a listing that is known from the page before, so
  nothing that was open all the time is missed while others come and go; where it does not, the pull goes back. A
  pull is shown whole or not at all.
- A pull that breaks changes nothing but the age (\`age_seconds\`) of what is held. After two periods without a whole pull
  it is \`stale\`, with the reason of the latest failure. It is shown for as long as the upstream stays away, and tried
  again at the period, or after 15 s where that is sooner. A 401 or 403 is heard: then nothing is shown until the key is
  taken again.
- What is held is saved with the store, once a minute at most and when the service ends: with SQLite beside the
  database (\`PATH-snapshots/NAME.json\`, for its owner's eyes only), with Redis under \`entrepot:snapshot:NAME\`, compressed,
  for a week, and only where it takes no more than the upstream's part of \`cache.max_bytes\`. After a restart it is there
  at once, \`stale\` until the first pull ends.
- More than \`max_listings\`: nothing is held, and the upstream is asked live until it has fewer. The log says so once;
  its \`mode\` is \`live\` and its last error \`too_large\`.
- Listings that are not open are asked live, and so are a publisher's while not every publisher's address is known.
`,
}

const KEPT_TEXTS: Readonly<Record<Mode, Readonly<Record<Kept, string>>>> = {
  live: {
    none: 'nothing is kept',
    fresh: 'the same was asked less than 15 s ago',
    stale: 'the same was asked 75 s ago',
  },
  snapshot: {
    none: 'the first pull fails',
    fresh: 'the latest pull fails',
    stale: 'no pull has succeeded for two periods',
  },
}

const section = (mode: Mode, kept: Kept): string => {
  const rows = FAULT_CASES.filter(([ofMode, ofKept]) => ofMode === mode && ofKept === kept)
  const cells = rows.map(([, , fault, status, complete, state, reason, items, calls, withinMs]) =>
    [fault, status, complete, state, reason, items, calls, `${withinMs} ms`].map((cell) => cell ?? '–'),
  )
  const lines = [COLUMNS, COLUMNS.map(() => '---'), ...cells].map((line) => `| ${line.join(' | ')} |\n`)
  return `### ${mode}, ${KEPT_TEXTS[mode][kept]}\n\n${lines.join('')}`
}

const COLUMNS = ['fault', 'status', 'complete', 'state', 'reason', 'items', 'calls', 'within']

if (import.meta.main) writeFileSync(RELIABILITY_DOCS, renderReliability())
