import { readFileSync } from 'node:fs'
import test from 'ava'
import { REASON_NAMES } from '../../../../src/domain/source/reasons.ts'

test('docs/contract.md: names each reason, and no other', (t) => {
  const contract = readFileSync('docs/contract.md', 'utf8')
  const names = /^- `reason` is one of `([^`]+)`, or `http_` with a status\./m.exec(contract)?.[1] ?? ''
  t.deepEqual(names.split(/\s+/).sort(), REASON_NAMES.toSorted())
})
