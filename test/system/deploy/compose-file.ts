import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** `docker-compose.yml` as Compose reads it: anchors merged, variables replaced. Only tested members are typed. */
type ComposeFile = {
  services: Readonly<Record<string, ComposeService>>
  networks: Readonly<Record<string, { internal?: boolean; ipam?: { config: { gateway: string }[] } } | null>>
}

type ComposeService = {
  command?: string[]
  environment?: Readonly<Record<string, string>>
  secrets?: string[]
  ports?: string[]
  volumes?: { type: string; read_only?: boolean }[]
  networks: string[] | Readonly<Record<string, { ipv4_address?: string } | null>>
  [key: string]: unknown
}

/** @param variables of the shell or `--env-file`; `${NAME:-default}` and `$$` are the only forms in the file */
export const readComposeFile = (variables: Readonly<Record<string, string>> = {}): ComposeFile =>
  parse(
    readFileSync('docker-compose.yml', 'utf8'),
    (_name, value: unknown) =>
      typeof value === 'string'
        ? value.replaceAll(/\$\$|\$\{(\w+):-([^}]*)\}/g, (_, name, other) => variables[name] ?? other ?? '$')
        : value,
    { merge: true },
  )

/** The fixed address of a service on a network. */
export function addressOf(file: ComposeFile, service: string, network: string): string {
  const networks = file.services[service]?.networks as Record<string, { ipv4_address?: string }> | undefined
  const address = networks?.[network]?.ipv4_address
  if (address === undefined) throw new Error(`${service} has no address on ${network}`)
  return address
}
