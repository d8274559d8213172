import type { OpenApiDocument } from './openapi.ts'
import { type DocsTable, docsText, type RouteText, type SchemaText } from './text.ts'

/** `docs/api.md`. */
export function renderMarkdown(document: OpenApiDocument): string {
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
