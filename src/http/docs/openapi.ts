import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import { problemSchema } from '../../wire/problem.ts'
import type { Gate, ResponseShape, Route } from '../route.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

export type OpenApiDocument = {
  openapi: '3.1.1'
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  paths: Record<string, Record<string, OpenApiOperation>>
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, JsonSchema> }
}

export type OpenApiOperation = {
  summary: string
  description?: string | undefined
  'x-gate': Gate
  security: Record<string, string[]>[]
  parameters?:
    | { name: string; in: string; description: string; required?: boolean; schema: JsonSchema }[]
    | undefined
  requestBody?: { required: true; content: Content } | undefined
  responses: Record<string, { description: string; content?: Content | undefined }>
}

type Content = Record<string, { schema: JsonSchema }>

const PROBLEM_TYPE = 'application/problem+json'

export function openApiDocument(routes: readonly Route[], version: string): OpenApiDocument {
  const { schemaOf, components } = convertSchemas(routes)
  const paths: OpenApiDocument['paths'] = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, schemaOf) }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'entrepot',
      version,
      description:
        'A Registry of market listings, and a gateway to many Registries. HEAD works wherever GET does. A request line with ' +
        'its headers may have 64 KiB (else 431), a body 256 KiB (else 413).',
    },
    servers: [{ url: '.' }],
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'A key of scope read or write' },
        adminKey: { type: 'http', scheme: 'bearer', description: "The operator's key" },
      },
    },
  }
}

type SchemaOf = (schema: z.ZodType) => JsonSchema

/** In one conversion, so that each named schema appears once, under `components`. */
function convertSchemas(routes: readonly Route[]): {
  schemaOf: SchemaOf
  components: Record<string, JsonSchema>
} {
  const schemas = [problemSchema, ...routes.flatMap(schemasOf)]
  const converted = z.toJSONSchema(z.object({ ...schemas }), { io: 'input', unrepresentable: 'any' })
  const { properties, $defs } = JSON.parse(
    JSON.stringify(converted).replaceAll('"#/$defs/', '"#/components/schemas/'),
  )
  return { schemaOf: (schema) => properties[schemas.indexOf(schema)], components: $defs }
}

const schemasOf = ({ body, responses }: Route): z.ZodType[] =>
  [body, ...Object.values(responses).map(({ schema }) => schema)].filter((schema) => schema !== undefined)

const operation = (route: Route, schemaOf: SchemaOf): OpenApiOperation => ({
  summary: route.summary,
  description: route.description,
  'x-gate': route.gate,
  security: SECURITY[route.gate],
  parameters: route.parameters?.map((one) => (one.in === 'path' ? { ...one, required: true } : one)),
  requestBody: route.body && {
    required: true,
    content: { 'application/json': { schema: schemaOf(route.body) } },
  },
  responses: {
    ...Object.fromEntries(
      Object.entries(route.responses).map(([status, answer]) => [status, response(answer, schemaOf)]),
    ),
    ...Object.fromEntries(
      problemStatuses(route).map((status) => [status, problemResponse(status, schemaOf(problemSchema))]),
    ),
  },
})

/** Read and write gates are settings, so their key is optional. */
const SECURITY: Readonly<Record<Gate, Record<string, string[]>[]>> = {
  none: [],
  read: [{ apiKey: [] }, {}],
  write: [{ apiKey: [] }, {}],
  admin: [{ adminKey: [] }],
}

const response = ({ description, schema, type = 'application/json' }: ResponseShape, schemaOf: SchemaOf) => ({
  description,
  content: schema && { [type]: { schema: schemaOf(schema) } },
})

const problemResponse = (status: number, schema: JsonSchema) => ({
  description: STATUS_CODES[status] ?? String(status),
  content: { [PROBLEM_TYPE]: { schema } },
})

const GATE_REFUSALS: Readonly<Record<Gate, readonly number[]>> = {
  none: [],
  read: [401, 429, 503],
  write: [401, 403, 429, 503],
  admin: [401],
}
const BODY_REFUSALS = [400, 413, 415, 422]

/** Path parameters may be malformed (400), and writes may fail in the store (503). */
function problemStatuses({ method, path, gate, body, problems = [] }: Route): number[] {
  const statuses = new Set([...GATE_REFUSALS[gate], ...problems])
  for (const status of body === undefined ? [] : BODY_REFUSALS) statuses.add(status)
  if (path.includes(':')) statuses.add(400)
  if (method !== 'GET') statuses.add(503)
  return [...statuses].sort((a, b) => a - b)
}
