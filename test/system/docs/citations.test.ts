import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import test from 'ava'

const LINK = /\[([^\]]*)\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)/g
const PATH = /`((?:src|test|deploy)\/[\w./-]+)`/g
const DOCUMENT = /(?<![\w./-])((?:[\w.-]+\/)*[\w.-]+\.md)\b(?:#([\w-]+))?/g

const files = globSync(
  [
    '*.{md,yml}',
    '.ci/*',
    '{src,test,bench,demo,scripts,config,deploy,docs}/**/*.{ts,lua,css,md,toml,yaml,yml,conf,env,sh,py}',
  ],
  { exclude: ['test/fixtures/**', 'test/artifacts/**', 'test/system/docs/**'] },
)

test('citations: every named document, section, file and test exists', (t) => {
  const citations = files.flatMap((file) => citationsIn(file, readFileSync(file, 'utf8')))
  t.true(citations.length > 150)
  t.deepEqual(citations.filter(isBroken), [])
})

type Citation = { file: string; target: string; anchor?: string | undefined; title?: string | undefined }

/** Links of a document count from its folder; files that any text names, from the root. */
function citationsIn(file: string, text: string): Citation[] {
  const links = file.endsWith('.md') ? [...text.matchAll(LINK)] : []
  // A decision and the changelog may cite a file that is gone.
  const paths = /^(docs\/[\w-]+|README|CONTRIBUTING)\.md$/.test(file) ? [...text.matchAll(PATH)] : []
  const documents = (file.endsWith('.md') ? text.replace(LINK, '') : text).matchAll(DOCUMENT)
  return [
    ...links.map(([, title, path, anchor]) => {
      return { file, target: path ? join(dirname(file), path) : file, anchor, title }
    }),
    ...[...paths, ...documents].map(([, path, anchor]) => ({ file, target: path!, anchor })),
  ]
}

/** A title with a part that is filled in is named by the rest of it. */
function isBroken({ target, anchor, title = '' }: Citation): boolean {
  if (!existsSync(target)) return true
  if (target.endsWith('.md') && anchor) return !anchorsOf(target).has(anchor)
  return target.endsWith('.test.ts') && !readFileSync(target, 'utf8').includes(title)
}

/** The anchors that GitHub gives the headings of a document. */
function anchorsOf(document: string): ReadonlySet<string> {
  const text = readFileSync(document, 'utf8').replace(/^```.*?^```/gms, '')
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading!.trim().toLowerCase())
  return new Set(headings.map((words) => words.replace(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-')))
}
