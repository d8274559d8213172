import type { OpenApiDocument } from './openapi.ts'
import { type DocsRow, type DocsSchema, docsRows, docsSchemas } from './rows.ts'

export function renderMarkdown(document: OpenApiDocument): string {
  const rows = docsRows(document)
  return `${[
    '# HTTP interface',
    'Made from the route table by `npm run docs`; a test keeps it current. The same is served at `/docs` and, as ' +
      'OpenAPI 3.1, at `/openapi.json`.',
    table(
      ['Route', 'Gate', 'Success', 'Problems', 'What'],
      rows.map(({ method, path, gate, successes, problems, summary }) => [
        code(`${method} ${path}`),
        gate,
        successes.join(', '),
        problems.join(', '),
        summary,
      ]),
    ),
    ...rows.map(section),
    '## Shapes',
    ...docsSchemas(document).map(shape),
  ].join('\n\n')}\n`
}

const section = ({ method, path, summary, description, parameters, body, answers }: DocsRow): string =>
  [
    `## ${method} ${path}`,
    `${summary}.${description === '' ? '' : ` ${description}`}`,
    parameters.length === 0
      ? ''
      : table(
          ['Parameter', 'In', 'Type', 'Meaning'],
          parameters.map(({ name, place, type, description }) => [code(name), place, type, description]),
        ),
    body === '' ? '' : `Body: ${code(body)}`,
    answers
      .map(
        ({ status, type, description }) =>
          `- ${status}: ${description}${type === '' ? '' : `, ${code(type)}`}`,
      )
      .join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n')

const shape = ({ name, description, members }: DocsSchema): string =>
  [
    `### ${name}`,
    description,
    table(
      ['Member', 'Type', 'Required', 'Meaning'],
      members.map((member) => [
        code(member.name),
        member.type,
        member.isRequired ? 'yes' : 'no',
        member.description,
      ]),
    ),
  ]
    .filter((part) => part !== '')
    .join('\n\n')

const code = (text: string): string => `\`${text}\``

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n')

const cell = (text: string): string => text.replaceAll('|', '\\|')
