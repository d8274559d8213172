#!/bin/sh
# Makes the secrets that docker-compose.yml hands to its containers, each where there is none yet: it never writes over
# one, and running it again changes nothing.
#
#   deploy/make-secrets.sh [FOLDER]     FOLDER: default deploy/secrets, which git and the image's builder ignore
#
# The folder is 0700, and that is what keeps other users of this machine out. The files are 0444, because Compose mounts
# them as they are, owner and all, into containers whose users are neither you nor root.
set -eu

folder=${1:-$(dirname "$0")/secrets}
umask 077
mkdir -p "$folder"
chmod 700 "$folder"

# 32 random bytes in hexadecimal.
random() {
  od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}

# write NAME TEXT: whole or not at all, even if we are stopped on the way.
write() {
  file="$folder/$1"
  if [ -e "$file" ]; then
    echo "kept $file"
    return
  fi
  printf '%s\n' "$2" >"$file.new"
  chmod 444 "$file.new"
  # A link never replaces what another run has just made.
  ln "$file.new" "$file" && echo "made $file"
  rm -f "$file.new"
}

write admin_key "$(random)"
write bootstrap_key "$(random)"
write curated_key "$(random)"
write grafana_password "$(random)"
write redis_password "$(random)"
# What Redis and the gateways read is made of the password, so that the two never differ.
password=$(cat "$folder/redis_password")
write redis.conf "requirepass $password"
write store_url "redis://:$password@redis:6379"
