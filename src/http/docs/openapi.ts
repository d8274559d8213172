import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import { problemSchema } from '../../wire/problem.ts'
import { NDJSON_TYPE } from '../middleware/accept.ts'
import type { Gate, ResponseShape, Route } from '../route.ts'
import { type RouteExample, routeExample } from './examples.ts'
import { PROBLEMS } from './problems.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

export type OpenApiDocument = {
  openapi: '3.1.1'
  info: { title: string; version: string; description: string; license: { name: string; identifier: string } }
  servers: { url: string }[]
  tags: { name: Tag; description: string }[]
  paths: Record<string, Record<string, OpenApiOperation>>
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, JsonSchema> }
}

export type OpenApiOperation = {
  operationId: string
  tags: [Tag]
  summary: string
  description?: string | undefined
  'x-gate': Gate
  security: Record<string, string[]>[]
  parameters?:
    | {
        name: string
        in: string
        description: string
        required?: boolean
        schema: JsonSchema
        example?: string | undefined
      }[]
    | undefined
  requestBody?: { required: true; content: Content } | undefined
  responses: Record<string, { description: string; content?: Content | undefined }>
  /** As several tools show them. */
  'x-codeSamples': [{ lang: 'Shell'; label: 'curl'; source: string }]
}

type Content = Record<string, { schema: JsonSchema; example?: unknown }>

/** Who uses a route. */
type Tag = keyof typeof TAGS

const TAGS = {
  Read: 'For buyers and agents: listings, publishers, sources, and the filters there are.',
  Publish: 'For sellers: signed listings.',
  Operate: 'For the operator: keys, upstreams, health and metrics.',
}

const PROBLEM_TYPE = 'application/problem+json'

/** In `x-codeSamples`; the page shows its own address in its place. */
export const EXAMPLE_BASE = 'http://localhost:8080'

/** @param listingShape JSON Schema of a listing, from the filter spec */
export function openApiDocument(
  routes: readonly Route[],
  version: string,
  listingShape: JsonSchema,
): OpenApiDocument {
  const { schemaOf, components } = convertSchemas(routes)
  const isGateway = routes.some(({ path }) => path === '/sources')
  const paths: OpenApiDocument['paths'] = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: operation(
        route,
        schemaOf,
        routeExample(route.method, route.path, isGateway),
      ),
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'entrepot',
      version,
      description:
        'A Registry of market listings, and a gateway to many Registries. HEAD works wherever GET does. A request line with ' +
        'its headers may have 64 KiB (else 431), a body 256 KiB (else 413).',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name: name as Tag, description })),
    paths,
    components: {
      schemas: { ...withOfferTypes(components, listingShape), ...listingShapes(listingShape) },
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'A key of scope read or write' },
        metricsKey: { type: 'http', scheme: 'bearer', description: 'A key of scope metrics' },
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
    // The default. Generators of clients forget the known members of an object that states it.
    JSON.stringify(converted, (name, value) => (isAnything(name, value) ? undefined : value)).replaceAll(
      '"#/$defs/',
      '"#/components/schemas/',
    ),
  )
  return { schemaOf: (schema) => properties[schemas.indexOf(schema)], components: $defs }
}

const schemasOf = ({ body, responses }: Route): z.ZodType[] =>
  [body, ...Object.values(responses).map(({ schema }) => schema)].filter((schema) => schema !== undefined)

const isAnything = (name: string, value: unknown): boolean =>
  name === 'additionalProperties' && JSON.stringify(value) === '{}'

/** Adds the types of the listing shape to listings that are read, which may lack what the shape requires. */
function withOfferTypes(
  components: Record<string, JsonSchema>,
  shape: JsonSchema,
): Record<string, JsonSchema> {
  const { properties: types = {} } = typesOf(shape)
  return mapValues(components, (schema, name) => {
    if (name !== 'Listing' && name !== 'MergedListing') return schema
    const properties = schema.properties as Record<string, JsonSchema>
    return { ...schema, properties: mapValues(properties, (own, member) => ({ ...types[member], ...own })) }
  })
}

type Types = { type?: unknown; properties?: Record<string, Types>; items?: Types }

function typesOf({ type, properties, items }: JsonSchema): Types {
  return {
    ...(type !== undefined && { type }),
    ...(properties !== undefined && {
      properties: mapValues(properties as Record<string, JsonSchema>, typesOf),
    }),
    ...(items !== undefined && { items: typesOf(items as JsonSchema) }),
  }
}

const mapValues = <From, To>(
  record: Readonly<Record<string, From>>,
  map: (value: From, name: string) => To,
): Record<string, To> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]))

const LISTING_SHAPE = 'ListingShape'

/** The shape and its definitions as components. Published listings may differ from it. */
function listingShapes({ $defs = {}, $schema, $id, ...shape }: JsonSchema): Record<string, JsonSchema> {
  const definitions = Object.entries($defs as Record<string, JsonSchema>)
  const text = JSON.stringify({
    [LISTING_SHAPE]: { description: 'A listing as this service expects it', ...shape },
    ...Object.fromEntries(definitions.map(([name, schema]) => [`${LISTING_SHAPE}.${name}`, schema])),
  })
  return JSON.parse(
    text
      .replaceAll('"$ref":"#/$defs/', `"$ref":"#/components/schemas/${LISTING_SHAPE}.`)
      .replaceAll(/"\$ref":"#(?!\/components\/)/g, `"$ref":"#/components/schemas/${LISTING_SHAPE}`),
  )
}

const operation = (route: Route, schemaOf: SchemaOf, example: RouteExample): OpenApiOperation => ({
  operationId: operationIdOf(route),
  tags: [tagOf(route)],
  summary: route.summary,
  description: route.description,
  'x-gate': route.gate,
  security: SECURITY[route.gate],
  parameters: route.parameters?.map((one) => ({
    ...one,
    ...(one.in === 'path' && { required: true }),
    example: example.parameters?.[one.name],
  })),
  requestBody: route.body && {
    required: true,
    content: { 'application/json': { schema: schemaOf(route.body), example: example.body } },
  },
  responses: {
    ...Object.fromEntries(
      Object.entries(route.responses).map(([status, answer], n) => [
        status,
        response(answer, schemaOf, n === 0 ? example.answer : undefined),
      ]),
    ),
    ...Object.fromEntries(
      problemStatuses(route).map((status) => [status, problemResponse(status, schemaOf(problemSchema))]),
    ),
  },
  'x-codeSamples': [{ lang: 'Shell', label: 'curl', source: curlOf(route, example) }],
})

/** `getListingsById` of `GET /listings/:id`. */
function operationIdOf({ method, path }: Route): string {
  const name = path
    .split(/[/._-]/)
    .flatMap((step) => (step.startsWith(':') ? ['by', step.slice(1)] : [step]))
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return method.toLowerCase() + (name.join('') || 'Root')
}

const OPERATED: ReadonlySet<string> = new Set(['/live', '/health', '/ready', '/metrics', '/operator'])

function tagOf({ method, path, gate }: Route): Tag {
  if (gate === 'admin' || OPERATED.has(path)) return 'Operate'
  return (method !== 'GET' && path.startsWith('/listings')) || path.endsWith('/validate-publish')
    ? 'Publish'
    : 'Read'
}

function curlOf({ method, path, gate, parameters = [] }: Route, example: RouteExample): string {
  const values = Object.entries(example.parameters ?? {})
  const query = values.filter(([name]) => parameters.some((one) => one.name === name && one.in === 'query'))
  const address = values.reduce(
    (text, [name, value]) => text.replace(`:${name}`, encodeURIComponent(value)),
    path,
  )
  const headers = {
    ...example.headers,
    ...(KEYS[gate] !== undefined && { Authorization: `Bearer ${KEYS[gate]}` }),
    ...(example.body !== undefined && { 'Content-Type': 'application/json' }),
  }
  return [
    'curl',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    // In double quotes, where the shell inserts a variable.
    ...Object.entries(headers).map(([name, value]) => `-H "${name}: ${value}"`),
    quoted(EXAMPLE_BASE + address + (query.length === 0 ? '' : `?${new URLSearchParams(query)}`)),
    ...(example.body === undefined ? [] : [`-d ${quoted(JSON.stringify(example.body))}`]),
  ].join(' ')
}

/** Reads usually need no key. */
const KEYS: Readonly<Partial<Record<Gate, string>>> = {
  write: '$ENTREPOT_KEY',
  metrics: '$METRICS_KEY',
  admin: '$REGISTRY_ADMIN_API_KEY',
}

const quoted = (text: string): string =>
  /^[\w/:.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** Read and write gates are settings, so their key is optional. */
const SECURITY: Readonly<Record<Gate, Record<string, string[]>[]>> = {
  none: [],
  read: [{ apiKey: [] }, {}],
  write: [{ apiKey: [] }, {}],
  metrics: [{ metricsKey: [] }, { adminKey: [] }],
  admin: [{ adminKey: [] }],
}

const response = (
  { description, schema, type = 'application/json', isStreamed = false }: ResponseShape,
  schemaOf: SchemaOf,
  example: unknown,
) => ({
  description,
  content: schema && {
    [type]: { schema: schemaOf(schema), example },
    ...(isStreamed && { [NDJSON_TYPE]: { schema: { type: 'string' } } }),
  },
})

const problemResponse = (status: number, schema: JsonSchema) => ({
  description: PROBLEMS[status] ?? STATUS_CODES[status] ?? String(status),
  content: { [PROBLEM_TYPE]: { schema } },
})

const GATE_REFUSALS: Readonly<Record<Gate, readonly number[]>> = {
  none: [],
  read: [401, 403, 429, 503],
  write: [401, 403, 429, 503],
  metrics: [401, 403],
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
