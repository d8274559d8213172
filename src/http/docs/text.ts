import type { JsonSchema, OpenApiDocument, OpenApiOperation } from './openapi.ts'

/** What the page and `docs/api.md` show. Texts hold `code` in backticks. */
export type DocsChapter = { title: string; table?: DocsTable; sections: DocsSection[] }
export type DocsSection = { title: string; summary: string; paragraphs: string[]; tables: DocsTable[] }
export type DocsTable = { head: readonly string[]; rows: readonly (readonly string[])[] }

export function docsText({ paths, components }: OpenApiDocument): DocsChapter[] {
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
      responses: responsesOf(operation),
    })),
  )
  return [
    {
      title: 'Routes',
      table: {
        head: ['Route', 'Gate', 'Success', 'Problems', 'What'],
        rows: routes.map(({ name, operation, responses }) => [
          code(name),
          operation['x-gate'],
          responses.flatMap(({ status, isProblem }) => (isProblem ? [] : [status])).join(', '),
          responses.flatMap(({ status, isProblem }) => (isProblem ? [status] : [])).join(', '),
          operation.summary,
        ]),
      },
      sections: routes.map(({ name, operation, responses }) => routeSection(name, operation, responses)),
    },
    { title: 'Shapes', sections: Object.entries(components.schemas).map(shapeSection) },
  ]
}

type Response = { status: string; type: string; description: string; isProblem: boolean }

const responsesOf = ({ responses }: OpenApiOperation): Response[] =>
  Object.entries(responses).map(([status, { description, content = {} }]) => {
    const [[media, { schema }] = ['', { schema: {} }]] = Object.entries(content)
    const type = media === 'application/json' ? typeText(schema) : media
    return { status, description, type, isProblem: media.includes('problem') }
  })

function routeSection(title: string, operation: OpenApiOperation, responses: Response[]): DocsSection {
  const { summary, description = '', parameters = [], requestBody } = operation
  const [body] = Object.values(requestBody?.content ?? {})
  return {
    title,
    summary,
    paragraphs: [
      ...(description === '' ? [] : [description]),
      ...(body === undefined ? [] : [`Body: ${code(typeText(body.schema))}`]),
    ],
    tables: [
      {
        head: ['Parameter', 'In', 'Type', 'Meaning'],
        rows: parameters.map((one) => [code(one.name), one.in, typeText(one.schema), one.description]),
      },
      {
        head: ['Status', 'Body', 'Meaning'],
        rows: responses
          .filter(({ isProblem }) => !isProblem)
          .map(({ status, type, description }) => [status, type && code(type), description]),
      },
    ],
  }
}

const shapeSection = ([title, schema]: [string, JsonSchema]): DocsSection => ({
  title,
  summary: '',
  paragraphs: typeof schema.description === 'string' ? [schema.description] : [],
  tables: [
    {
      head: ['Member', 'Type', 'Required', 'Meaning'],
      rows: propertiesOf(schema).map(([name, member]) => [
        code(name),
        typeText(member),
        ((schema.required ?? []) as string[]).includes(name) ? 'yes' : 'no',
        typeof member.description === 'string' ? member.description : '',
      ]),
    },
  ],
})

const code = (text: string): string => `\`${text}\``

const propertiesOf = ({ properties = {} }: JsonSchema): [string, JsonSchema][] =>
  Object.entries(properties as Record<string, JsonSchema>)

/** `Listing`, `array of Listing`, `integer 1..200`, `'read' | 'write'`, `any`. */
function typeText(schema: JsonSchema): string {
  if (typeof schema.$ref === 'string') return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
  const choices = schema.anyOf as JsonSchema[] | undefined
  if (choices !== undefined) return [...new Set(choices.map(typeText))].join(' | ')
  const values = schema.enum as unknown[] | undefined
  if (values !== undefined) return values.map((value) => `'${value}'`).join(' | ')
  if (schema.type === 'array') return `array of ${typeText((schema.items ?? {}) as JsonSchema)}`
  const members = propertiesOf(schema).map(([name, member]) => `${name}: ${typeText(member)}`)
  if (members.length > 0) return `{ ${members.join(', ')} }`
  const type = [schema.type ?? 'any'].flat().join(' | ')
  return schema.maximum !== undefined && Number(schema.maximum) < Number.MAX_SAFE_INTEGER
    ? `${type} ${schema.minimum}..${schema.maximum}`
    : type
}
