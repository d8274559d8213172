import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { OpenApiDocument, OpenApiOperation } from '../../src/http/docs/openapi.ts'

export type AnnouncedAnswer = { status: number; type: string; text: string }

/**
 * Checks answers against an OpenAPI document: the fault of an answer to `method` on the templated `path`, or `null` if the
 * document announces its status, type and body.
 */
export function announcedBy(document: OpenApiDocument) {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addSchema({ $id: 'openapi', ...withAnyOffer(document) })
  const validators = new Map<string, ValidateFunction>()
  const validatorOf = (pointer: string): ValidateFunction => {
    const known = validators.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` })
    validators.set(pointer, known)
    return known
  }
  return (method: string, asked: string, { status, type, text }: AnnouncedAnswer): string | null => {
    const path = templateOf(document, method.toLowerCase(), asked)
    const operation = document.paths[path]?.[method.toLowerCase()] as OpenApiOperation | undefined
    if (operation === undefined) return `${method} ${path} is not in the document`
    const response = operation.responses[status]
    if (response === undefined) return `${method} ${path} does not announce ${status}: ${text}`
    const [announcedType] = Object.keys(response.content ?? {})
    if (announcedType === undefined) return text === '' ? null : `${method} ${path} ${status} has a body`
    if (!type.startsWith(`${announcedType};`)) return `${method} ${path} ${status} came as ${type}`
    if (!announcedType.includes('json')) return null
    const steps = ['paths', path, method.toLowerCase(), 'responses', String(status), 'content', announcedType]
    const pointer = [...steps, 'schema'].map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'))
    const validate = validatorOf(`/${pointer.map(encodeURIComponent).join('/')}`)
    return validate(JSON.parse(text))
      ? null
      : `${method} ${path} ${status}: ${ajv.errorsText(validate.errors)}`
  }
}

/** `DELETE /keys/rotate` is `DELETE /keys/{id}` where `/keys/rotate` has no DELETE. */
function templateOf({ paths }: OpenApiDocument, method: string, path: string): string {
  if (paths[path]?.[method] !== undefined) return path
  const fits = (template: string) =>
    new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(path) && method in paths[template]!
  return Object.keys(paths).find(fits) ?? path
}

/** A Registry that only warns of the listing shape serves other values than the document announces. */
function withAnyOffer(document: OpenApiDocument): OpenApiDocument {
  const changed = structuredClone(document)
  const { Listing, MergedListing } = changed.components.schemas
  for (const schema of [Listing, MergedListing])
    for (const name of PUBLISHED_MEMBERS)
      delete (schema?.properties as Record<string, unknown> | undefined)?.[name]
  return changed
}

const PUBLISHED_MEMBERS = [
  'offer_resource',
  'accepted_escrows',
  'demands',
  'max_duration_seconds',
  'oracle_address',
]

/** Whether a value fits the schema of a route's request body. */
export function fitsBodyOf(document: OpenApiDocument) {
  const ajv = new Ajv2020({ strict: false })
  ajv.addSchema({ $id: 'openapi', ...document })
  return (path: string, method: string, value: unknown): boolean => {
    const steps = ['paths', path, method, 'requestBody', 'content', 'application/json', 'schema']
    const pointer = steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')))
    return ajv.validate({ $ref: `openapi#/${pointer.join('/')}` }, value)
  }
}
