import {
  exampleAddress,
  type JsonSchema,
  type OpenApiDocument,
  type OpenApiOperation,
  PROBLEMS,
} from './openapi.ts'

export type RouteText = ReturnType<typeof routeText>

export type SchemaText = ReturnType<typeof schemaText>

export type DocsTable = {
  title: string
  head: readonly string[]
  rows: readonly (readonly string[])[]
  isLong?: boolean
}

/** What the page and `docs/api.md` show. Texts hold `code` in backticks. */
export function docsText({ tags, paths, components }: OpenApiDocument) {
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
    /** By status, for all routes. */
    problems: { title: 'Problems', head: ['Status', 'Meaning'], rows: Object.entries(PROBLEMS) },
    schemas: Object.entries(components.schemas).map(([name, schema]) => schemaText(name, schema)),
  }
}

const schemaText = (name: string, schema: JsonSchema) => ({
  name,
  description: descriptionOf(schema),
  table: { title: '', head: ['Member', 'Type', 'Required', 'Meaning'], rows: memberRows(schema) },
})

const descriptionOf = ({ description }: JsonSchema): string =>
  typeof description === 'string' ? description : ''

function routeText(method: string, path: string, operation: OpenApiOperation) {
  const { summary, description = '', parameters = [], requestBody, responses } = operation
  const [body] = Object.values(requestBody?.content ?? {})
  const answers = Object.entries(responses).map(([status, response]) => answerText(status, response))
  const [curl, ...samples] = operation['x-codeSamples']
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
    /** The anchor. */
    id: operation.operationId,
    method,
    path,
    summary,
    access: ACCESS[operation['x-gate']],
    description,
    curl: curl.source,
    /** Of other languages. */
    samples,
    /** JSON of the example. */
    answer: first?.example === undefined ? null : indented(first.example),
    statuses: {
      success: answers.flatMap(({ status, isProblem }) => (isProblem ? [] : [status])),
      problems: answers.flatMap(({ status, isProblem }) => (isProblem ? [status] : [])),
    },
    tables: tables.filter(({ rows }) => rows.length > 0),
    /** For a GET of data: the example's address below the root, without a leading slash. */
    tryAddress: method === 'GET' && !isPage ? exampleAddress(path, parameters).slice(1) : null,
  }
}

const ACCESS: Readonly<Record<OpenApiOperation['x-gate'], string>> = {
  none: 'open',
  read: 'read key, where the operator requires one',
  write: 'write key, where the operator requires one',
  metrics: 'admin key, or a key with the role metrics',
  admin: 'admin key',
}

function answerText(status: string, response: OpenApiOperation['responses'][string]) {
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
    const isRequired = required.includes(name) ? 'yes' : 'no'
    return [
      [code(prefix + name), code(typeText(member)), isRequired, descriptionOf(member)],
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
