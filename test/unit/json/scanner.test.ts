import test from 'ava'
import fc from 'fast-check'
import { JsonScanner } from '../../../src/json/scanner.ts'
import { jsonText } from '../../helpers/json-text.ts'
import { runs } from '../../helpers/runs.ts'

test('skipping: a value ends where JSON.parse ends it', (t) => {
  fc.assert(
    fc.property(jsonText(), fc.constantFrom('', ',', ']', ' 1', '\n'), (text, behind) => {
      const bytes = Buffer.from(text + behind)
      const scanner = new JsonScanner(bytes)
      const end = scanner.valueEnd(scanner.skipSpace(0))
      t.deepEqual(JSON.parse(bytes.toString('utf8', 0, end)), JSON.parse(text))
    }),
    { numRuns: runs(2000) },
  )
})

test('skipping: it never passes the end of a text in a longer buffer', (t) => {
  fc.assert(
    fc.property(jsonText(), fc.nat(), jsonText(), (text, cut, older) => {
      const part = Buffer.from(text).subarray(0, cut % (text.length + 1))
      const scanner = new JsonScanner(Buffer.concat([part, Buffer.alloc(1), Buffer.from(older)]), part.length)
      for (let at = 0; at <= part.length; at++) t.true(scanner.valueEnd(at) <= part.length, `${text} ${at}`)
    }),
  )
})
