import { useState } from 'react';
import { one } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import type { Metric } from '../../api/queries.ts';
import { Sheet } from '../../ui/dialogs.tsx';
import { Form } from '../../ui/form.tsx';

/** Picks the metrics of the Overview for the whole team. */
export const MetricsSheet = ({
  metrics,
  open,
  onClose,
}: {
  metrics: readonly Metric[];
  open: boolean;
  onClose: () => void;
}) => (
  <Sheet open={open} onClose={onClose} title="Metrics on the Overview">
    <Choice metrics={metrics} onSaved={onClose} />
  </Sheet>
);

const pickedOf = (metrics: readonly Metric[]): ReadonlySet<string> =>
  new Set(metrics.filter(({ onOverview }) => onOverview === true).map(({ id }) => id));

function Choice({ metrics, onSaved }: { metrics: readonly Metric[]; onSaved: () => void }) {
  const [picked, setPicked] = useState(() => pickedOf(metrics));
  const before = pickedOf(metrics);
  const changed = metrics
    .filter(({ id }) => picked.has(id) !== before.has(id))
    .map(({ id }) => ({ id, onOverview: picked.has(id) }));
  const save = useChange({
    run: async () => {
      await one(admin.PATCH('/v1/metrics', { body: changed }));
      onSaved();
    },
    done: 'Saved for everyone.',
    quiet: true,
  });
  const pick = (id: string, isPicked: boolean): void => {
    const next = new Set(picked);
    if (isPicked) next.add(id);
    else next.delete(id);
    setPicked(next);
  };
  return (
    <Form
      change={{ ...save, curl: () => save.curl() }}
      onSubmit={() => save.mutate()}
      submit="Save"
      isDirty={changed.length > 0}
      incomplete={changed.length === 0}
    >
      <p className="text-muted">
        Everyone who manages this tenant sees these metrics. If none is chosen, the Overview shows the first three.
      </p>
      <div className="flex flex-col">
        {metrics.map(({ id, name }) => (
          <label key={id} className="flex items-center gap-2 py-0.5">
            <input type="checkbox" checked={picked.has(id)} onChange={({ target }) => pick(id, target.checked)} />
            {name}
          </label>
        ))}
      </div>
    </Form>
  );
}
