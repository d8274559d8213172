import { existsSync, readFileSync } from 'node:fs'
import { normalize } from 'node:path'
import test from 'ava'

const FILE = 'docs/security.md'

type Named = { title: string; file: string }

/** Every test that a text names, as a link from its title to its file. */
const testsIn = (text: string): Named[] =>
  [...text.matchAll(/\[([^\]]+)\]\(\.\.\/(test\/[^)]+)\)/g)].map(([, title, file]) => ({
    title: title!,
    file: file!,
  }))

/** Files of the repository that a text names in back quotes. */
const filesIn = (text: string): string[] =>
  [...text.matchAll(/`((?:src|test|deploy|docs|config)\/[\w./-]+|\.gitignore|\.dockerignore)`/g)].map(
    ([, file]) => file!,
  )

/** What is named and is not there. A title with a part that is filled in is named by the rest of it. */
const missing = (text: string): string[] => [
  ...testsIn(text)
    .filter(({ title, file }) => !existsSync(file) || !readFileSync(file, 'utf8').includes(title))
    .map(({ title, file }) => `${file}: ${title}`),
  ...filesIn(text).filter((file) => !existsSync(normalize(file))),
]

const text = readFileSync(FILE, 'utf8')

test('threat model: every test and file that it names exists', (t) => {
  t.true(testsIn(text).length > 40)
  t.true(filesIn(text).length > 25)
  t.deepEqual(missing(text), [])
})

test('threat model: the check finds a missing test', (t) => {
  t.deepEqual(
    missing(
      '[no such title](../test/http/publish/publish.test.ts) `src/http/none.ts` [x](../test/none.test.ts)',
    ),
    ['test/http/publish/publish.test.ts: no such title', 'test/none.test.ts: x', 'src/http/none.ts'],
  )
})

test('threat model: every threat with a defence has a test', (t) => {
  const rows = text.split('\n').filter((line) => line.startsWith('| ') && line.includes('src/'))
  t.true(rows.length > 25)
  t.deepEqual(
    rows.filter((row) => testsIn(row).length === 0 && !row.startsWith('| Redis,')),
    [],
  )
})
