import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../src/config/config.ts'
import { createContext } from '../src/context/context.ts'
import { readFilterSpec } from '../src/filter-spec/load.ts'
import { type OpenApiDocument, openApiDocument } from '../src/http/docs/openapi.ts'
import { type DocsTable, docsText, type RouteText, type SchemaText } from '../src/http/docs/text.ts'

/** `npm run docs` writes `docs/api.md` from the route table of a gateway with a Registry and an upstream. */

export const API_DOCS = 'docs/api.md'

/** The text of `docs/api.md`. */
export async function renderApiDocs(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'entrepot-docs-'))
  const file = join(folder, 'gateway.toml')
  writeFileSync(file, '[[upstreams]]\nname = "open-market"\nurl = "https://registry.example"\n')
  const config = loadConfig({ STORE_URL: 'sqlite::memory:', LOG_LEVEL: 'silent', ENTREPOT_CONFIG: file })
  const context = await createContext(config)
  const { routes } = context
  await context.close()
  rmSync(folder, { recursive: true })
  return renderMarkdown(openApiDocument(routes, readFilterSpec(config.filterSpecPath).listingShape))
}

export const readApiDocs = (): string => readFileSync(API_DOCS, 'utf8')

function renderMarkdown(document: OpenApiDocument): string {
  const { groups, problems, schemas } = docsText(document)
  return `${[
    '# HTTP interface',
    'Made from the route table by `npm run docs`; a test keeps it current. The same is served at `/docs`, where GETs can be ' +
      'tried, and as OpenAPI 3.1 at `/openapi.json`.',
    document.info.description,
    ...groups.flatMap(({ name, description, routes }) => [
      `## ${name}`,
      description,
      overview(routes),
      ...routes.flatMap(routeSection),
    ]),
    `## ${problems.title}`,
    table(problems),
    '## Schemas',
    ...schemas.flatMap(schemaSection),
  ].join('\n\n')}\n`
}

const overview = (routes: readonly RouteText[]): string =>
  table({
    title: '',
    head: ['Route', 'Success', 'Problems', 'What'],
    rows: routes.map(({ method, path, statuses, summary }) => [
      `\`${method} ${path}\``,
      statuses.success.join(', '),
      statuses.problems.join(', '),
      summary,
    ]),
  })

const routeSection = (route: RouteText): string[] => [
  `### ${route.method} ${route.path}`,
  `${route.summary}. Access: ${route.access}.`,
  ...(route.description === '' ? [] : [route.description]),
  ['```sh', route.curl, '```'].join('\n'),
  ...(route.answer === null ? [] : [['```json', route.answer, '```'].join('\n')]),
  ...route.tables.filter(({ title }) => title !== 'Problems').map(table),
]

const schemaSection = ({ name, description, table: members }: SchemaText): string[] => [
  `### ${name}`,
  ...(description === '' ? [] : [`${description}.`]),
  ...(members.rows.length === 0 ? [] : [table(members)]),
]

const table = ({ head, rows }: DocsTable): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')

if (import.meta.main) writeFileSync(API_DOCS, await renderApiDocs())
