import type { JsonSchema, OpenApiDocument, OpenApiOperation } from './openapi.ts'

export type DocsRow = {
  method: string
  path: string
  gate: string
  summary: string
  description: string
  successes: string[]
  problems: string[]
  parameters: { name: string; place: string; type: string; description: string }[]
  body: string
  answers: { status: string; type: string; description: string }[]
}

export type DocsSchema = {
  name: string
  description: string
  members: { name: string; type: string; isRequired: boolean; description: string }[]
}

export const docsRows = ({ paths }: OpenApiDocument): DocsRow[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => row(method.toUpperCase(), path, operation)),
  )

export const docsSchemas = ({ components }: OpenApiDocument): DocsSchema[] =>
  Object.entries(components.schemas).map(([name, schema]) => ({
    name,
    description: text(schema.description),
    members: Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).map(([member, one]) => ({
      name: member,
      type: typeText(one),
      isRequired: ((schema.required ?? []) as string[]).includes(member),
      description: text(one.description),
    })),
  }))

function row(method: string, path: string, operation: OpenApiOperation): DocsRow {
  const answers = Object.entries(operation.responses).map(([status, { description, content }]) => {
    const [type, media] = Object.entries(content ?? {})[0] ?? []
    return { status, description, type: media ? mediaText(type!, media.schema) : '', media: type ?? '' }
  })
  const isProblem = ({ media }: { media: string }): boolean => media.includes('problem')
  const successes = answers.filter((answer) => !isProblem(answer))
  const [body] = Object.values(operation.requestBody?.content ?? {})
  return {
    method,
    path,
    gate: operation['x-gate'],
    summary: operation.summary,
    description: operation.description ?? '',
    successes: successes.map(({ status }) => status),
    problems: answers.filter(isProblem).map(({ status }) => status),
    parameters: (operation.parameters ?? []).map(({ name, in: place, schema, description }) => ({
      name,
      place,
      type: typeText(schema),
      description,
    })),
    body: body === undefined ? '' : typeText(body.schema),
    answers: successes.map(({ status, type, description }) => ({ status, type, description })),
  }
}

const mediaText = (type: string, schema: JsonSchema): string =>
  type === 'application/json' ? typeText(schema) : type

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** `Listing`, `array of Listing`, `integer 1..200`, `'read' | 'write'`, `any`. */
function typeText(schema: JsonSchema): string {
  if (typeof schema.$ref === 'string') return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
  const choices = schema.anyOf as JsonSchema[] | undefined
  if (choices !== undefined) return [...new Set(choices.map(typeText))].join(' | ')
  const values = schema.enum as unknown[] | undefined
  if (values !== undefined) return values.map((value) => `'${value}'`).join(' | ')
  if (schema.type === 'array') return `array of ${typeText((schema.items ?? {}) as JsonSchema)}`
  const members = memberTexts((schema.properties ?? {}) as Record<string, JsonSchema>)
  if (members !== '') return `{ ${members} }`
  const type = [schema.type ?? 'any'].flat().join(' | ')
  return schema.maximum !== undefined && Number(schema.maximum) < Number.MAX_SAFE_INTEGER
    ? `${type} ${schema.minimum}..${schema.maximum}`
    : type
}

const memberTexts = (properties: Record<string, JsonSchema>): string =>
  Object.entries(properties)
    .map(([name, schema]) => `${name}: ${typeText(schema)}`)
    .join(', ')
