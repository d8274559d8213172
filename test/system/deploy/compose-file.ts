import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** `docker-compose.yml` as Compose reads it: anchors merged, variables replaced. Only tested members are typed. */
type ComposeFile = {
  services: Readonly<Record<string, ComposeService>>
  networks: Readonly<Record<string, { internal?: boolean; ipam?: { config: Subnet[] } } | null>>
  volumes: Readonly<Record<string, unknown>>
  secrets: Readonly<Record<string, { file: string }>>
}

export type ComposeService = {
  image?: string
  build?: { context: string; target: string }
  user?: string
  command?: string[]
  entrypoint?: string[]
  environment?: Readonly<Record<string, string>>
  secrets?: string[]
  profiles?: string[]
  ports?: string[]
  volumes?: { type: string; source: string; target: string; read_only?: boolean }[]
  networks: string[] | Readonly<Record<string, { ipv4_address?: string } | null>>
  depends_on?: string[] | Readonly<Record<string, unknown>>
  healthcheck?: { test: string[] }
  read_only?: boolean
  cap_drop?: string[]
  security_opt?: string[]
  mem_limit?: string
  pids_limit?: number
}

type Subnet = { subnet: string; gateway: string; ip_range?: string }

export const COMPOSE_FILE = 'docker-compose.yml'

/** @param variables of the shell or `--env-file` */
export const readComposeFile = (variables: Readonly<Record<string, string>> = {}): ComposeFile =>
  parse(
    readFileSync(COMPOSE_FILE, 'utf8'),
    (_name, value: unknown) => (typeof value === 'string' ? interpolate(value, variables) : value),
    { merge: true },
  )

/** `${NAME:-default}` and `$$`, the only forms in the file; any other is an error. */
const interpolate = (text: string, variables: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\$(?:\$|\{(\w+):-([^}]*)\}|(.))/g, (whole, name, otherwise, other) => {
    if (other !== undefined) throw new Error(`not understood: ${whole}`)
    return name === undefined ? '$' : (variables[name] ?? otherwise)
  })

/** The names in a list, or the keys of a map: Compose takes either. */
export const namesIn = (entries: readonly string[] | Readonly<Record<string, unknown>> = []): string[] =>
  Array.isArray(entries) ? [...entries] : Object.keys(entries)

/** The fixed address of a service on a network. */
export function addressOf(file: ComposeFile, service: string, network: string): string {
  const networks = file.services[service]?.networks
  const address = Array.isArray(networks)
    ? undefined
    : (networks as Record<string, { ipv4_address?: string }>)?.[network]?.ipv4_address
  if (address === undefined) throw new Error(`${service} has no address on ${network}`)
  return address
}
