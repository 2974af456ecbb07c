import { useQuery } from '@tanstack/react-query';
import { number } from '../../ui/format.ts';
import { bytes } from '../../ui/measures.ts';
import { Facts, Failed, Panel } from '../../ui/parts.tsx';
import { systemQuery } from './system-query.ts';

/** Versions and memory of the installation's servers. */
export function Servers() {
  const system = useQuery(systemQuery);
  const { version, node, redis, postgres, shards } = system.data ?? {};
  const none = system.data === undefined ? '–' : 'no response';
  return (
    <Panel title="Redis and Postgres">
      {system.isError && <Failed error={system.error} />}
      <Facts
        of={[
          ['Laurel', version === undefined ? '–' : `${version} on Node.js ${node}`],
          ['Redis', redis ? `${redis.server === 'redis' ? '' : `${redis.server} `}${redis.version}` : none],
          ['Redis memory', redis ? ofMost(bytes(redis.memoryBytes), redis.maxMemoryBytes) : none],
          ['Postgres', postgres?.version ?? none],
          ['Database size', postgres ? bytes(postgres.databaseBytes) : none],
          ['Shared buffers', postgres ? bytes(postgres.sharedBuffersBytes) : none],
          ['Connections', postgres ? `${number(postgres.connections)} of ${number(postgres.maxConnections)}` : none],
          [
            'Waiting entries by shard',
            shards ? shards.map(({ outboxEntries }) => number(outboxEntries)).join(' · ') : none,
          ],
        ]}
      />
    </Panel>
  );
}

const ofMost = (used: string, mostBytes: number | null): string =>
  mostBytes === null ? `${used}, no limit` : `${used} of ${bytes(mostBytes)}`;
