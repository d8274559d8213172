import { z } from 'zod'
import { version } from '../../config/shipped-files.ts'
import { problemSchema } from '../../wire/problem.ts'
import { NDJSON_TYPE } from '../middleware/accept.ts'
import { STATUS_CODES } from '../node-http.ts'
import type { Gate, ResponseShape, Route } from '../route.ts'
import { type RouteExample, routeExample } from './examples.ts'
import { codeSamples } from './samples.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

export type OpenApiDocument = ReturnType<typeof openApiDocument>
export type OpenApiOperation = ReturnType<typeof operation>

/** The users of a route. */
type Tag = keyof typeof TAGS

const TAGS = {
  Read: 'For buyers and agents: listings, publishers, sources, and the filters there are.',
  Publish: 'For sellers: signed listings.',
  Operate: 'For the operator: keys, upstreams, health and metrics.',
}

const PROBLEM_TYPE = 'application/problem+json'

/** @param listingShape JSON Schema of a listing, from the filter spec */
export function openApiDocument(all: readonly Route[], listingShape: JsonSchema) {
  const routes = all.filter(({ isUnlisted }) => isUnlisted !== true)
  const { schemaOf, components } = convertSchemas(routes)
  const isGateway = routes.some(({ path }) => path === '/sources')
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const route of routes) {
    const example = routeExample(route.method, route.path, isGateway)
    const path = openApiPath(route)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, schemaOf, example) }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'entrepot',
      version: version(),
      description:
        'Read every listing of several Registries with one `GET /listings`; a Registry of its own is there to publish to. HEAD works ' +
        'wherever GET does. Limits: 64 KiB for a request line with its headers (else 431), 256 KiB for a body (else 413).',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name: name as Tag, description })),
    paths,
    components: {
      schemas: { ...withOfferTypes(components, listingShape), ...listingShapes(listingShape) },
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'A key of scope read or write' },
        metricsKey: { type: 'http', scheme: 'bearer', description: 'A key with the role metrics' },
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
    JSON.stringify(converted, toDocumented).replaceAll('"#/$defs/', '"#/components/schemas/'),
  )
  return { schemaOf: (schema) => properties[schemas.indexOf(schema)], components: $defs }
}

const schemasOf = ({ body, responses }: Route): z.ZodType[] =>
  [body, ...Object.values(responses).map(({ schema }) => schema)].filter((schema) => schema !== undefined)

function toDocumented(name: string, value: unknown): unknown {
  // The default. Generators of clients forget the known members of an object that states it.
  if (name === 'additionalProperties' && JSON.stringify(value) === '{}') return undefined
  // Integers count, or are times.
  return name === 'minimum' && value === Number.MIN_SAFE_INTEGER ? 0 : value
}

/** Adds the types of the listing shape to listings that are read, which may lack what the shape requires. */
function withOfferTypes(
  components: Record<string, JsonSchema>,
  shape: JsonSchema,
): Record<string, JsonSchema> {
  const { properties: types = {} } = typesOf(shape)
  return mapValues(components, (schema, name) => {
    if (name !== 'Listing' && name !== 'MergedListing') return schema
    const properties = schema.properties as Record<string, JsonSchema>
    return {
      ...schema,
      properties: mapValues(properties, (property, member) => ({ ...types[member], ...property })),
    }
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

const openApiPath = ({ path }: Route): string => path.replaceAll(/:(\w+)/g, '{$1}')

function operation(route: Route, schemaOf: SchemaOf, example: RouteExample) {
  const parameters = route.parameters?.map((one) => ({
    ...one,
    ...(one.in === 'path' && { required: true }),
    example: example.parameters?.[one.name],
  }))
  const inOrder = Object.keys(example.parameters ?? {}).flatMap(
    (name) => parameters?.filter((one) => one.name === name) ?? [],
  )
  const address = exampleAddress(openApiPath(route), inOrder)
  return {
    operationId: operationIdOf(route),
    tags: [tagOf(route)] as const,
    summary: route.summary,
    description: route.description,
    'x-gate': route.gate,
    security: SECURITY[route.gate],
    parameters,
    requestBody: route.body && {
      required: true,
      content: { 'application/json': { schema: schemaOf(route.body), example: example.body } },
    },
    responses: {
      ...Object.fromEntries(
        Object.entries(route.responses).map(([status, answer], n) => [
          status,
          {
            ...response(answer, schemaOf, n === 0 ? example.answer : undefined),
            ...(n === 0 && { links: LINKS[`${route.method} ${route.path}`] }),
          },
        ]),
      ),
      ...Object.fromEntries(
        problemStatuses(route).map((status) => [status, problemResponse(status, schemaOf(problemSchema))]),
      ),
    },
    'x-codeSamples': codeSamples(route, address, example),
  }
}

/** Below the root, with the values of the example. */
export function exampleAddress(
  path: string,
  parameters: readonly { name: string; in: string; example: string | undefined }[],
): string {
  const query = new URLSearchParams()
  let address = path
  for (const { name, in: place, example } of parameters) {
    if (example === undefined) continue
    if (place === 'query') query.append(name, example)
    else address = address.replace(`{${name}}`, encodeURIComponent(example))
  }
  return query.size === 0 ? address : `${address}?${query}`
}

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

/** Read and write gates are settings, so their key is optional. */
const SECURITY: Readonly<Record<Gate, Record<string, string[]>[]>> = {
  none: [],
  read: [{ apiKey: [] }, {}],
  write: [{ apiKey: [] }, {}],
  metrics: [{ metricsKey: [] }, { adminKey: [] }],
  admin: [{ adminKey: [] }],
}

type Link = { operationId: string; parameters: Readonly<Record<string, string>>; description: string }

/** From a first success to the operations that take its ids: testing tools and consoles follow them. */
const LINKS: Readonly<Record<string, Readonly<Record<string, Link>>>> = {
  'POST /listings': Object.fromEntries(
    ['get', 'put', 'delete'].map((method) => [
      method,
      {
        operationId: `${method}ListingsById`,
        parameters: { id: '$response.body#/listing_id' },
        description: 'The listing that was published',
      },
    ]),
  ),
  'GET /publishers': {
    publisher: {
      operationId: 'getPublishersByPublisherId',
      parameters: { publisher_id: '$response.body#/items/0/publisher_id' },
      description: 'The first publisher of the page',
    },
  },
}

type Answer = {
  description: string
  content?: Record<string, { schema: JsonSchema; example?: unknown }> | undefined
  links?: Readonly<Record<string, Link>> | undefined
}

const response = (
  { description, schema, type = 'application/json', isStreamed = false, alsoAs }: ResponseShape,
  schemaOf: SchemaOf,
  example: unknown,
): Answer => ({
  description,
  content: schema && {
    [type]: { schema: schemaOf(schema), example },
    ...(isStreamed && { [NDJSON_TYPE]: { schema: { type: 'string' } } }),
    ...(alsoAs !== undefined && { [alsoAs]: { schema: { type: 'string' } } }),
  },
})

const problemResponse = (status: number, schema: JsonSchema): Answer => ({
  description: PROBLEMS[status] ?? STATUS_CODES[status] ?? String(status),
  content: { [PROBLEM_TYPE]: { schema } },
})

/** What each status of a problem means for the caller, and what to do. */
export const PROBLEMS: Readonly<Record<number, string>> = {
  400: 'A parameter, filter or member is unknown or malformed. `detail` names it.',
  401: 'No API key, or one that is unknown, revoked or expired: send `Authorization: Bearer KEY`. Of a write also: no valid signature of the publisher.',
  403: 'The key’s scope does not allow it, the listing is another publisher’s, or a limit of the publisher is reached (`quota_exceeded`).',
  404: 'It does not exist here.',
  406: '`Accept` names no type that the route can send.',
  409: 'The signature was used for another request. Sign again with a new timestamp.',
  410: 'The position is too old, of another query or of another service. Read `GET /listings` again, and continue from its `Changes-Position`.',
  412: 'The filter spec has changed. Read `GET /filter-spec`, and send its etag in `If-Match`.',
  413: 'The body is too large.',
  415: '`Content-Type` or `Content-Encoding` of the body is not supported. Send plain JSON.',
  422: 'Members or parameters have a wrong type or value. `errors` lists each with its path.',
  429: 'Too many requests. Wait as many seconds as `Retry-After` says.',
  502: 'With `require=all`, a source has no current answer; of one listing, no source that answered has it, and others failed. `sources` has the reasons.',
  503: 'Sources, keys or the store cannot be used at the moment. Try again after `Retry-After`, or in a moment.',
  504: 'No source answered within the time budget. Try again, or raise `timeout_ms`.',
  508: 'The query has passed this gateway, or more than three others, before. Gateways that list each other need `kind = "gateway"` and ids of their own.',
}

const GATE_REFUSALS: Readonly<Record<Gate, readonly number[]>> = {
  none: [],
  read: [401, 403, 429, 503],
  write: [401, 403, 429, 503],
  metrics: [401, 403],
  admin: [401, 503],
}
const BODY_REFUSALS = [400, 413, 415, 422]

/** Writes may fail in the store (503). */
function problemStatuses({ method, gate, body, problems = [] }: Route): number[] {
  const statuses = new Set([...GATE_REFUSALS[gate], ...problems])
  for (const status of body === undefined ? [] : BODY_REFUSALS) statuses.add(status)
  if (method !== 'GET') statuses.add(503)
  return [...statuses].sort((a, b) => a - b)
}
