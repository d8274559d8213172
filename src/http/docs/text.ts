import type { JsonSchema, OpenApiDocument, OpenApiOperation } from './openapi.ts'
import { PROBLEMS } from './problems.ts'

/** What the page and `docs/api.md` show. Texts hold `code` in backticks. */
type DocsText = {
  groups: { name: string; description: string; routes: RouteText[] }[]
  /** By status, for all routes. */
  problems: DocsTable
  schemas: SchemaText[]
}

export type RouteText = {
  /** Anchor: the operation's id. */
  id: string
  method: string
  path: string
  summary: string
  access: string
  description: string
  curl: string
  /** JSON of the example, indented. */
  answer: string | null
  statuses: { success: string[]; problems: string[] }
  tables: DocsTable[]
  /** For a GET of data: the example's address below the root, without a leading slash. */
  tryAddress: string | null
}

export type SchemaText = { name: string; description: string; table: DocsTable }

export type DocsTable = {
  title: string
  head: readonly string[]
  rows: readonly (readonly string[])[]
  isLong?: boolean
}

export function docsText({ tags, paths, components }: OpenApiDocument): DocsText {
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      tag: operation.tags[0],
      text: routeText(method.toUpperCase(), path, operation),
    })),
  )
  return {
    groups: tags.map(({ name, description }) => ({
      name,
      description,
      routes: routes.flatMap(({ tag, text }) => (tag === name ? [text] : [])),
    })),
    problems: { title: 'Problems', head: ['Status', 'Meaning'], rows: Object.entries(PROBLEMS) },
    schemas: Object.entries(components.schemas).map(([name, schema]) => ({
      name,
      description: typeof schema.description === 'string' ? schema.description : '',
      table: { title: '', head: ['Member', 'Type', 'Required', 'Meaning'], rows: memberRows(schema) },
    })),
  }
}

function routeText(method: string, path: string, operation: OpenApiOperation): RouteText {
  const { summary, description = '', parameters = [], requestBody, responses } = operation
  const [body] = Object.values(requestBody?.content ?? {})
  const answers = Object.entries(responses).map(([status, response]) => answerText(status, response))
  const [sample] = operation['x-codeSamples']
  const [first] = answers
  const isFilter = ({ schema }: { schema: JsonSchema }): boolean => schema.anyOf !== undefined
  const rowsOf = (all: typeof parameters): string[][] =>
    all.map((one) => [code(one.name), one.in, code(typeText(one.schema)), one.description])
  const head = ['Name', 'In', 'Type', 'Meaning']
  const tables: DocsTable[] = [
    { title: 'Parameters', head, rows: rowsOf(parameters.filter((one) => !isFilter(one))) },
    { title: 'Filters', head, rows: rowsOf(parameters.filter(isFilter)), isLong: true },
    {
      title: 'Body',
      head: ['Type', 'Meaning'],
      rows: body === undefined ? [] : [[code(typeText(body.schema)), 'JSON']],
    },
    {
      title: 'Answers',
      head: ['Status', 'Body', 'Meaning'],
      rows: answers
        .filter(({ isProblem }) => !isProblem)
        .map(({ status, type, meaning }) => [status, type && code(type), meaning]),
    },
    {
      title: 'Problems',
      head: ['Status', 'Meaning'],
      rows: answers.filter(({ isProblem }) => isProblem).map(({ status, meaning }) => [status, meaning]),
    },
  ]
  const isPage = answers.some(({ type }) => type === 'text/html')
  return {
    id: operation.operationId,
    method,
    path,
    summary,
    access: ACCESS[operation['x-gate']],
    description,
    curl: sample.source,
    answer: first?.example === undefined ? null : indented(first.example),
    statuses: {
      success: answers.flatMap(({ status, isProblem }) => (isProblem ? [] : [status])),
      problems: answers.flatMap(({ status, isProblem }) => (isProblem ? [status] : [])),
    },
    tables: tables.filter(({ rows }) => rows.length > 0),
    tryAddress: method === 'GET' && !isPage ? exampleAddress(path, parameters) : null,
  }
}

const ACCESS: Readonly<Record<OpenApiOperation['x-gate'], string>> = {
  none: 'open',
  read: 'read key, where the operator requires one',
  write: 'write key, where the operator requires one',
  metrics: 'admin key, or a key of scope metrics',
  admin: 'admin key',
}

type AnswerText = { status: string; type: string; meaning: string; example: unknown; isProblem: boolean }

function answerText(status: string, response: OpenApiOperation['responses'][string]): AnswerText {
  const [[media, { schema, example }] = ['', { schema: {}, example: undefined }]] = Object.entries(
    response.content ?? {},
  )
  return {
    status,
    type: media === 'application/json' ? typeText(schema) : media,
    meaning: response.description,
    example,
    isProblem: media.includes('problem'),
  }
}

function exampleAddress(path: string, parameters: NonNullable<OpenApiOperation['parameters']>): string {
  const given = parameters.filter(({ example }) => example !== undefined)
  const query = given.filter((one) => one.in === 'query').map(({ name, example = '' }) => [name, example])
  const address = given.reduce(
    (text, { name, example = '' }) => text.replace(`{${name}}`, encodeURIComponent(example)),
    path.slice(1),
  )
  return query.length === 0 ? address : `${address}?${new URLSearchParams(query)}`
}

const code = (text: string): string => `\`${text}\``

type Properties = [name: string, schema: JsonSchema][]

const propertiesOf = ({ properties = {} }: JsonSchema): Properties =>
  Object.entries(properties as Record<string, JsonSchema>)

/** Members of members have dotted names; `[]` are the items of an array. */
function memberRows(schema: JsonSchema, prefix = ''): string[][] {
  const required = (schema.required ?? []) as string[]
  return propertiesOf(schema).flatMap(([name, member]) => {
    const isArray = member.type === 'array'
    const inner = isArray ? ((member.items ?? {}) as JsonSchema) : member
    const description = typeof member.description === 'string' ? member.description : ''
    return [
      [code(prefix + name), code(typeText(member)), required.includes(name) ? 'yes' : 'no', description],
      ...memberRows(inner, `${prefix}${name}${isArray ? '[]' : ''}.`),
    ]
  })
}

/** `Listing`, `array of Listing`, `integer 1..200`, `'read' | 'write'`, `object`, `any`. */
function typeText(schema: JsonSchema): string {
  if (typeof schema.$ref === 'string') return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
  const choices = schema.anyOf as JsonSchema[] | undefined
  if (choices !== undefined) return [...new Set(choices.map(typeText))].join(' | ')
  const values = schema.enum as unknown[] | undefined
  if (values !== undefined) return values.map((value) => `'${value}'`).join(' | ')
  if (schema.type === 'array') return `array of ${typeText((schema.items ?? {}) as JsonSchema)}`
  const type = [schema.type ?? 'any'].flat().join(' | ')
  return schema.maximum !== undefined && Number(schema.maximum) < Number.MAX_SAFE_INTEGER
    ? `${type} ${schema.minimum}..${schema.maximum}`
    : type
}

const LINE_LENGTH = 90

/** JSON; a value that fits into a line is on one. */
function indented(value: unknown, indent = ''): string {
  const line = JSON.stringify(value)
  if (typeof value !== 'object' || value === null || indent.length + line.length <= LINE_LENGTH) return line
  const inner = `${indent}  `
  const isArray = Array.isArray(value)
  const members = isArray
    ? value.map((item) => inner + indented(item, inner))
    : Object.entries(value).map(([name, item]) => `${inner}${JSON.stringify(name)}: ${indented(item, inner)}`)
  const [open, close] = isArray ? '[]' : '{}'
  return `${open}\n${members.join(',\n')}\n${indent}${close}`
}
