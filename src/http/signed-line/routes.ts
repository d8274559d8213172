import { z } from 'zod'
import type { Rotation } from '../../domain/publisher.ts'
import type { Reader } from '../../domain/reader.ts'
import type { RegistryView } from '../../registry/publishers-in-view.ts'
import type { WriteContext } from '../../registry/write/lines.ts'
import {
  findRotation,
  type RotationContext,
  retireIdentity,
  rotateIdentity,
  rotationNotFound,
  rotationToJson,
} from '../../registry/write/rotate.ts'
import { validateSigned } from '../../registry/write/validate.ts'
import { publisherOf } from '../../signing/principal.ts'
import { objectBody } from '../middleware/body.ts'
import { readIntegerParameter } from '../parameters.ts'
import { integerParameter, json, type RequestContext, type Route, writerOf } from '../route.ts'

/**
 * The routes of requests of the signed line: those of the plain line, and those that only this line has.
 * @param registry `null` for a pure gateway
 */
export function signedRoutes(plain: readonly Route[], registry: (WriteContext & Rotations) | null): Route[] {
  const own = registry === null ? [] : [validateRoute(registry), ...rotationRoutes(registry)]
  const health = plain.filter(({ path }) => path === '/health')
  const all = [
    ...own,
    ...health.map((route) => ({ ...route, path: SIGNED_HEALTH, gate: 'read' as const })),
    // Of a removal the query says nothing here.
    ...plain.map((one) => (one.act === 'listing.delete' ? { ...one, parameters: [] } : one)),
  ]
  const names = all.map(nameOf)
  return all.filter((route, n) => names.indexOf(nameOf(route)) === n)
}

const SIGNED_HEALTH = '/api/v1/system/health'
const nameOf = ({ method, path }: Route): string => `${method} ${path}`

const BODY = z.looseObject({})

const validateRoute = ({ shape }: WriteContext): Route => ({
  ...route('POST', '/api/v1/listings/validate-publish', 'Validate a listing against the listing shape'),
  gate: 'read',
  body: BODY,
  handle: (request) => json(validateSigned(objectBody(request), shape.check)),
})

const PUBLISHER_ID = integerParameter('path', 'publisher_id', 'The numeric id')
const ROTATIONS = '/publishers/:publisher_id/identity-rotations'

type Rotations = RotationContext & {
  /** `null` for a reader who does not see the local Registry. */
  viewOf: (reader: Reader) => Promise<RegistryView | null>
}

const rotationRoutes = (registry: Rotations): Route[] => {
  const now = () => registry.nowSeconds() * 1_000_000
  const publisherIdOf = ({ params }: RequestContext) =>
    readIntegerParameter(PUBLISHER_ID, params.publisher_id)!
  const parameters = [PUBLISHER_ID]
  return [
    {
      ...route('POST', ROTATIONS, 'Replace the identity of a publisher'),
      act: 'publisher.identity.rotate',
      parameters,
      body: BODY,
      handle: async (request) => {
        const id = publisherIdOf(request)
        const { value } = objectBody(request)
        return json(
          rotationToJson(id, await rotateIdentity(id, value, writerOf(request.signed), registry), now()),
        )
      },
    },
    {
      ...route('GET', `${ROTATIONS}/:nonce`, 'A rotation'),
      gate: 'read',
      parameters,
      handle: async (request) => {
        const id = publisherIdOf(request)
        return json(rotationToJson(id, await rotationInView(id, request, registry), now()))
      },
    },
    {
      ...route('POST', `${ROTATIONS}/:nonce/retire`, 'Retire the replaced identity'),
      act: 'publisher.identity.retire',
      parameters,
      handle: async (request) => {
        const publisherId = publisherIdOf(request)
        const { nonce = '' } = request.params
        const rotation = await retireIdentity({ publisherId, nonce }, writerOf(request.signed), registry)
        return json(rotationToJson(publisherId, rotation, now()))
      },
    },
  ]
}

/** Its two principals see it in any view. @throws EntrepotError `not_found` */
async function rotationInView(
  id: number,
  { params, reader, signed }: RequestContext,
  registry: Rotations,
): Promise<Rotation> {
  const rotation = findRotation(id, params.nonce ?? '', registry)
  const principal = signed?.request.principal
  const isOwn = [rotation.current, rotation.replacement].some(
    (one) => principal !== undefined && publisherOf(one) === publisherOf(principal),
  )
  if (isOwn || (await registry.viewOf(reader))?.publishers.has(id)) return rotation
  throw rotationNotFound()
}

const route = (method: Route['method'], path: string, summary: string) => ({
  method,
  path,
  gate: 'write' as const,
  summary,
  responses: {},
})
