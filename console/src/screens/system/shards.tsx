import { useQuery } from '@tanstack/react-query';
import type { paths } from '../../../generated/admin.ts';
import { bytes, number } from '../../ui/format.ts';
import { Panel, Tag } from '../../ui/parts.tsx';
import { systemQuery } from './system-query.ts';

type System = paths['/v1/system']['get']['responses'][200]['content']['application/json'];
type Server = NonNullable<System['redisServers']>[number];
type Move = NonNullable<System['shardMoves']>[number];

/** Moves that are listed; many have left keys behind only where many were interrupted. */
const MOST_MOVES = 8;

/** Where shards are, and which are on their way. Nothing where there is one Redis, which has them all. */
export function Shards() {
  const { redisServers, shardMoves } = useQuery(systemQuery).data ?? {};
  if (!redisServers || !shardMoves || (redisServers.length < 2 && shardMoves.length === 0)) return null;
  return (
    <Panel title="Shards" className="lg:col-span-2">
      <ul className="flex flex-col divide-y divide-line">
        {redisServers.map((server) => (
          <li key={server.name} className="flex flex-wrap items-center gap-x-3 gap-y-0.5 py-1.5">
            <span className="min-w-0 font-medium break-all">{server.name}</span>
            <Tags of={server} />
            <span className="text-muted">{facts(server)}</span>
          </li>
        ))}
      </ul>
      <Moves of={shardMoves} />
    </Panel>
  );
}

function Tags({ of: { named, state, shutShards } }: { of: Server }) {
  return (
    <>
      {!named && <Tag tone="bad">not in REDIS_URL</Tag>}
      {named && state === null && <Tag tone="bad">no answer</Tag>}
      {shutShards > 0 && <Tag tone="bad">{`${number(shutShards)} shut`}</Tag>}
      {named && state !== null && shutShards === 0 && <Tag tone="good">all served</Tag>}
    </>
  );
}

const facts = ({ shards, tenants, state }: Server): string =>
  [
    counted(shards, 'shard'),
    counted(tenants, 'tenant'),
    ...(state === null ? [] : [`${bytes(state.memoryBytes)} of memory`]),
  ].join(' · ');

const counted = (count: number, what: string): string => `${number(count)} ${what}${count === 1 ? '' : 's'}`;

function Moves({ of: moves }: { of: readonly Move[] }) {
  if (moves.length === 0) return <p className="border-t border-line pt-2 text-muted">No shard is being moved.</p>;
  return (
    <ul aria-label="Moves" className="flex flex-col gap-1 border-t border-line pt-2">
      {moves.slice(0, MOST_MOVES).map(({ shard, from, to, stage }) => (
        <li key={`${shard} ${stage}`} className="flex flex-wrap items-center gap-x-3">
          <span className="min-w-0 break-words">
            Shard {shard}: {from} → {to}
          </span>
          {stage === 'moving' ? <Tag tone="warn">being moved</Tag> : <Tag>{`moved; keys are left on ${from}`}</Tag>}
        </li>
      ))}
      {moves.length > MOST_MOVES && <li className="text-muted">and {number(moves.length - MOST_MOVES)} more</li>}
    </ul>
  );
}
