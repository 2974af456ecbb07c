import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useToday } from '../../api/clock.ts';
import { segmentsQuery, type Asked } from './queries.ts';
import { analyticsSearch, DAY, type AnalyticsSearch } from './search.ts';
import { DayField, Labelled, SelectInput } from '../../ui/fields.tsx';
import { dayAfter } from '../../ui/format.ts';

const PRESETS = [7, 30, 90, 365] as const;
const SHOWN_DAYS = 30;

/** The screen's state from the address. */
export const useShown = (): AnalyticsSearch => analyticsSearch(useSearch({ strict: false }));

/** The range and segment as API parameters. */
export function useAsked(): { range: { from: string; to: string }; query: Asked } {
  const search = useShown();
  const today = useToday();
  const to = search.to ?? today;
  const from = search.from ?? dayAfter(to, 1 - SHOWN_DAYS);
  const { segment } = search;
  const group = segment === 'control' || segment === 'others' ? segment : undefined;
  return {
    range: { from, to },
    query: {
      from,
      to,
      ...(group !== undefined && { group }),
      // Sent twice, because a single pair could be read as several.
      ...(segment !== undefined && group === undefined && { userAttributes: [segment, segment] }),
    },
  };
}

/** Changes the screen's state. */
export function useShow(): (changed: { [field in keyof AnalyticsSearch]: AnalyticsSearch[field] | undefined }) => void {
  const navigate = useNavigate();
  const search = useShown();
  return (changed) => void navigate({ to: '/analytics', search: analyticsSearch({ ...search, ...changed }) });
}

/** Days and segment. `isSegmented`: whether the view has segments. */
export function Controls({ isSegmented }: { isSegmented: boolean }) {
  const show = useShow();
  const { segment } = useShown();
  const { range } = useAsked();
  const today = useToday();
  const days = PRESETS.find((preset) => range.to === today && range.from === dayAfter(today, 1 - preset));
  return (
    <div className="grid grid-cols-2 gap-3 md:flex md:flex-wrap">
      <Labelled label="Period">
        <SelectInput
          value={days ?? ''}
          onChange={({ target }) =>
            target.value !== '' && show({ from: dayAfter(today, 1 - Number(target.value)), to: today })
          }
        >
          {days === undefined && <option value="">Custom</option>}
          {PRESETS.map((preset) => (
            <option key={preset} value={preset}>
              Last {preset} days
            </option>
          ))}
        </SelectInput>
      </Labelled>
      {isSegmented && <SegmentField segment={segment ?? ''} onChange={(chosen) => show({ segment: chosen })} />}
      <DayField label="From" value={range.from} onChange={(from) => DAY.test(from) && show({ from, to: range.to })} />
      <DayField label="To" value={range.to} onChange={(to) => DAY.test(to) && show({ from: range.from, to })} />
    </div>
  );
}

function SegmentField({ segment, onChange }: { segment: string; onChange: (segment?: string) => void }) {
  const segments = useQuery(segmentsQuery);
  const { attributes = [], controlShare = 0 } = segments.data ?? {};
  return (
    <Labelled label="Users">
      <SelectInput value={segment} onChange={({ target }) => onChange(target.value === '' ? undefined : target.value)}>
        <option value="">Everyone</option>
        {controlShare > 0 && (
          <optgroup label="Experiment">
            <option value="control">Control group</option>
            <option value="others">All others</option>
          </optgroup>
        )}
        {attributes.map(({ key, name, values, isFull }) => (
          <optgroup key={key} label={isFull ? `${name} (first ${values.length} values)` : name}>
            {values.map((value) => (
              <option key={value} value={`${key}:${value}`}>
                {name}: {value}
              </option>
            ))}
          </optgroup>
        ))}
      </SelectInput>
    </Labelled>
  );
}
