#!/bin/sh
# Creates the secrets of docker-compose.yml that do not exist yet. It never overwrites one, so it can run again.
#
#   deploy/make-secrets.sh [FOLDER]     FOLDER: default deploy/secrets, which git and the image's builder ignore
#
# The folder is 0700, which keeps out other users of this machine. The files are 0444, because Compose mounts them with
# their owner and mode into containers with other users.
set -eu

folder=${1:-$(dirname "$0")/secrets}
umask 077
mkdir -p "$folder"
chmod 700 "$folder"

# 32 random bytes in hexadecimal.
random() {
  od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}

# write NAME TEXT: completely or not at all, also when interrupted.
write() {
  file="$folder/$1"
  if [ -e "$file" ]; then
    echo "kept $file"
    return
  fi
  printf '%s\n' "$2" >"$file.new"
  chmod 444 "$file.new"
  # A link never replaces a file that another run has just created.
  ln "$file.new" "$file" && echo "made $file"
  rm -f "$file.new"
}

write admin_key "$(random)"
write bootstrap_key "$(random)"
write curated_key "$(random)"
write metrics_key "$(random)"
write grafana_password "$(random)"
write redis_password "$(random)"
# Redis and the gateways read files made of one password, so the two never differ.
password=$(cat "$folder/redis_password")
write redis.conf "requirepass $password"
write store_url "redis://:$password@redis:6379"
