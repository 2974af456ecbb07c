import { useQuery } from '@tanstack/react-query';
import { raritiesQuery } from '../../api/queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { number, percent } from '../../ui/format.ts';
import { Failed, Panel } from '../../ui/parts.tsx';
import { Bar } from './bar.tsx';

const SHOWN = 8;

/** How many users hold each achievement. */
export function Holders() {
  const rarities = useQuery(raritiesQuery);
  const shown = rarities.data?.toSorted((a, b) => b.completions - a.completions).slice(0, SHOWN);
  return (
    <Panel title="Most completed achievements">
      {rarities.isError && <Failed error={rarities.error} />}
      {shown?.length === 0 && <p className="text-muted">No active achievements.</p>}
      <ul className="flex flex-col gap-1">
        {shown?.map(({ id, name, badgeUrl, completions, rarity }) => (
          <Bar key={id} share={rarity / 100}>
            <span className="relative flex min-w-0 items-center gap-2">
              <Badge url={badgeUrl} />
              <span className="truncate">{name}</span>
            </span>
            <span className="relative self-center whitespace-nowrap">
              {number(completions)} <span className="text-muted">{percent(rarity / 100)}</span>
            </span>
          </Bar>
        ))}
      </ul>
    </Panel>
  );
}
