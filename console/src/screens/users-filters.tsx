import { useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { all } from '../api/answer.ts';
import { admin } from '../api/client.ts';
import { attributesQuery, pointsQuery } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import { Labelled, SelectInput, TextInput } from '../ui/fields.tsx';
import { AttributeValueInput } from '../ui/suggestions.tsx';
import { hasFilters, SEEN, type Seen, type UsersSearch } from './users-search.ts';
import { Options } from '../ui/options.tsx';

/** Delay after typing before a filter is applied. */
const TYPING_MS = 300;

/** The levels of all points systems, as options. */
function useLevels(): { value: string; text: string }[] {
  const systems = useQuery(pointsQuery).data ?? [];
  const levels = useQueries({
    queries: systems.map(({ id: systemId }) => ({
      queryKey: ['points', systemId, 'levels'],
      queryFn: () =>
        all((query) => admin.GET('/v1/points/{systemId}/levels', { params: { path: { systemId }, query } })),
    })),
  });
  return systems.flatMap((system, index) =>
    (levels[index]?.data ?? []).map(({ key, name }) => ({
      value: `${system.key}:${key}`,
      text: `${system.name}: ${name}`,
    })),
  );
}

/** The parts of the filter for an attribute. */
function split(attribute = ''): { key: string; value: string } {
  const colon = attribute.indexOf(':');
  return colon === -1
    ? { key: attribute, value: '' }
    : { key: attribute.slice(0, colon), value: attribute.slice(colon + 1) };
}

/** Filters of the list of users. */
export function UsersFilters({ asked, onChange }: { asked: UsersSearch; onChange: (next: UsersSearch) => void }) {
  const attributes = useQuery(attributesQuery).data?.filter(({ type }) => type === 'user') ?? [];
  const levels = useLevels();
  const [{ key, value }, setAttribute] = useState(() => split(asked.attribute));
  const [streak, setStreak] = useState(String(asked.streak ?? ''));
  const set = (part: { [N in keyof UsersSearch]?: UsersSearch[N] | undefined }): void => {
    const { attribute, level, streak: least, seen } = { ...asked, ...part };
    onChange({
      ...(attribute !== undefined && { attribute }),
      ...(level !== undefined && { level }),
      ...(least !== undefined && { streak: least }),
      ...(seen !== undefined && { seen }),
    });
  };
  const attribute = key !== '' && value !== '' ? `${key}:${value}` : undefined;
  const least = Number(streak) > 0 ? Math.floor(Number(streak)) : undefined;
  useEffect(() => {
    if (attribute === asked.attribute && least === asked.streak) return undefined;
    const timer = setTimeout(() => set({ attribute, streak: least }), TYPING_MS);
    return () => clearTimeout(timer);
  });
  return (
    <div className="grid max-w-4xl grid-cols-2 items-end gap-3 md:grid-cols-5">
      <Labelled label="Attribute">
        <SelectInput value={key} onChange={({ target }) => setAttribute({ key: target.value, value: '' })}>
          <option value="">Any</option>
          <Options of={attributes.map((one) => [one.key, one.name])} />
        </SelectInput>
      </Labelled>
      <Labelled label="Value">
        <AttributeValueInput
          attributeId={attributes.find((one) => one.key === key)?.id ?? ''}
          disabled={key === ''}
          value={value}
          onChange={({ target }) => setAttribute({ key, value: target.value })}
        />
      </Labelled>
      <Labelled label="Level">
        <SelectInput
          value={asked.level ?? ''}
          onChange={({ target }) => set({ level: target.value === '' ? undefined : target.value })}
        >
          <option value="">Any</option>
          <Options of={levels.map((level) => [level.value, level.text])} />
        </SelectInput>
      </Labelled>
      <Labelled label="Streak of at least">
        <TextInput type="number" min={1} value={streak} onChange={({ target }) => setStreak(target.value)} />
      </Labelled>
      <Labelled label="Active">
        <SelectInput
          value={asked.seen ?? ''}
          onChange={({ target }) => set({ seen: target.value === '' ? undefined : (target.value as Seen) })}
        >
          <option value="">Any time</option>
          <Options of={Object.entries(SEEN)} />
        </SelectInput>
      </Labelled>
      {hasFilters(asked) && (
        <Button
          look="bare"
          className="justify-self-start"
          onClick={() => {
            setAttribute({ key: '', value: '' });
            setStreak('');
            onChange({});
          }}
        >
          Clear the filters
        </Button>
      )}
    </div>
  );
}
