import test from 'ava'
import fc from 'fast-check'
import stringWidth from 'string-width'
import { renderTable } from '../../src/cli/output/table.ts'

const cell = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/\p{Cc}/gu, ''))

test('table: no line exceeds the terminal unless all columns are at minimum width', async (t) => {
  const columns = [{ title: 'A' }, { title: 'B', align: 'right' }, { title: 'C', minWidth: 6 }] as const
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(cell, cell, cell)),
      fc.integer({ min: 18, max: 60 }),
      async (rows, width) => {
        const lines = await renderTable(columns, rows, width)
        t.is(lines.length, rows.length + 1)
        t.true(lines.every((line) => stringWidth(line) <= width))
      },
    ),
  )
})

test('table: columns are aligned with their titles, wide characters included', async (t) => {
  t.deepEqual(
    await renderTable(
      [{ title: 'NAME' }, { title: 'N', align: 'right' }],
      [
        ['東京', '7'],
        ['x', '12'],
      ],
      null,
    ),
    ['NAME   N', '東京   7', 'x     12'],
  )
})
