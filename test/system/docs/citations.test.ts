import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import test from 'ava'

type Citation = { file: string; target: string; anchor: string }

const files = globSync(
  [
    '*.{md,yml}',
    '.ci/*',
    '{src,test,bench,demo,scripts,config,deploy,docs}/**/*.{ts,lua,css,md,toml,yaml,yml,conf,env,sh,py}',
  ],
  { exclude: ['test/fixtures/**', 'test/artifacts/**'] },
).map((file) => file.replaceAll('\\', '/'))

test('citations: every named document and section exists', (t) => {
  const citations = files.flatMap((file) => citationsIn(file, readFileSync(file, 'utf8')))
  t.true(citations.length > 150)
  t.true(citations.filter(({ anchor }) => anchor !== '').length > 25)
  t.deepEqual(citations.filter(isBroken).map(show), [])
})

test('citations: the check finds missing documents, sections and files', (t) => {
  const md = '.md'
  const broken = (file: string, text: string) => citationsIn(file, text).filter(isBroken).map(show)
  t.deepEqual(
    broken('src/a.ts', `// nowhere${md} 1.3, docs/nowhere${md}, docs/protocol${md}, protocol${md}`),
    [`src/a.ts: nowhere${md}`, `src/a.ts: docs/nowhere${md}`, `src/a.ts: protocol${md}`],
  )
  t.deepEqual(broken('src/a.ts', `/** docs/protocol${md}#6-filters, docs/protocol${md}#nowhere. */`), [
    `src/a.ts: docs/protocol${md}#nowhere`,
  ])
  const links = `[a](api${md}) [b](nowhere${md}#x) [c](#6-filters) [d](#nowhere) [e](../src/nowhere.ts) [f](https://a.example/b${md})`
  t.deepEqual(broken(`docs/protocol${md}`, links), [
    `docs/protocol${md}: docs/nowhere${md}#x`,
    `docs/protocol${md}: docs/protocol${md}#nowhere`,
    `docs/protocol${md}: src/nowhere.ts`,
  ])
})

const LINK = /\[[^\]]*\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)/g
const DOCUMENT = /(?<![\w./-])((?:[\w.-]+\/)*[\w.-]+\.md)\b(?:#([\w-]+))?/g

/** Links of a document count from its folder; documents that any text names, from the root. */
function citationsIn(file: string, text: string): Citation[] {
  const isDocument = file.endsWith('.md')
  const links = isDocument ? [...text.matchAll(LINK)] : []
  const named = [...(isDocument ? text.replace(LINK, '') : text).matchAll(DOCUMENT)]
  return [
    ...links.map(([, path, anchor = '']) => ({
      file,
      target: path ? join(dirname(file), path).replaceAll('\\', '/') : file,
      anchor,
    })),
    ...named.map(([, path, anchor = '']) => ({ file, target: path!, anchor })),
  ]
}

function isBroken({ target, anchor }: Citation): boolean {
  if (!existsSync(target)) return true
  return anchor !== '' && target.endsWith('.md') && !anchorsOf(target).has(anchor)
}

const anchors = new Map<string, ReadonlySet<string>>()

/** The anchors that GitHub gives the headings of a document. */
function anchorsOf(document: string): ReadonlySet<string> {
  const known = anchors.get(document)
  if (known !== undefined) return known
  const text = readFileSync(document, 'utf8').replace(/^```.*?^```/gms, '')
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading!)
  const found = new Set(headings.map(anchorOf))
  anchors.set(document, found)
  return found
}

function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

function show({ file, target, anchor }: Citation): string {
  return `${file}: ${target}${anchor === '' ? '' : `#${anchor}`}`
}
