import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { application } from '../../api/client.ts';
import { metricsQuery } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { Sheet } from '../../ui/dialogs.tsx';
import { Labelled, SelectInput, TextInput } from '../../ui/fields.tsx';
import { Failed, Shell } from '../../ui/parts.tsx';

/** Sends an event for the user, and shows what it changed. */
export function SendEvent({ id, open, onClose }: { id: string; open: boolean; onClose: () => void }) {
  const metrics = useQuery(metricsQuery).data ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  const [value, setValue] = useState('1');
  const key = chosen ?? metrics[0]?.key ?? '';
  const send = useChange({
    run: () =>
      answer(
        application.POST('/v1/metrics/{key}/event', {
          params: { path: { key } },
          body: { user: { id }, value: Number(value) },
        }),
      ),
    quiet: true,
  });
  return (
    <Sheet open={open} onClose={onClose} title="Send an event">
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          send.mutate();
        }}
      >
        <Labelled label="Metric">
          <SelectInput required value={key} onChange={({ target }) => setChosen(target.value)}>
            {metrics.map((metric) => (
              <option key={metric.key} value={metric.key}>
                {metric.name}
              </option>
            ))}
          </SelectInput>
        </Labelled>
        <Labelled label="Value" hint="How much is added to the total; below 0 takes away">
          <TextInput
            type="number"
            step="any"
            required
            value={value}
            onChange={({ target }) => setValue(target.value)}
          />
        </Labelled>
        {send.isError && <Failed error={send.error} />}
        {send.data && <Shell>{JSON.stringify(send.data, null, 2)}</Shell>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" look="primary" disabled={send.isPending || key === ''}>
            Send
          </Button>
        </div>
      </form>
    </Sheet>
  );
}
