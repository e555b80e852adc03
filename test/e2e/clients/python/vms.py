"""Takes a VM through its life with the dynamic client, watching it: create, patch, apply, start, stop, delete.

Reads the manifest from standard input and prints what it saw as one JSON object; test/e2e/journeys/clients-python.ts runs and judges it.
"""

import json
import sys
import tempfile

from kubernetes import config, dynamic
from kubernetes.dynamic.exceptions import ApiException, ConflictError

OPERATIONS = '/apis/subresources.kubevirt.io/v1/namespaces/{namespace}/virtualmachines/{name}/{verb}'
MERGE = 'application/merge-patch+json'
JSON_PATCH = 'application/json-patch+json'
PATIENCE_S = 120


def change(vms, where):
    """Patches in each of the ways that the server takes for kinds that are not built in; the labels that come of it."""
    vms.patch(body={'metadata': {'labels': {'merged': 'yes'}}}, content_type=MERGE, **where)
    vms.patch(body=[{'op': 'add', 'path': '/metadata/labels/added', 'value': 'yes'}], content_type=JSON_PATCH, **where)
    applied = {'apiVersion': 'kubevirt.io/v1', 'kind': 'VirtualMachine', 'metadata': {**where, 'labels': {'applied': 'yes'}}}
    vms.server_side_apply(body=applied, field_manager='python', **where)
    return vms.get(**where).metadata.labels.to_dict()


def refusals(client, vms, where):
    """What the client makes of a conflict and of a wrong manifest."""
    stop = OPERATIONS.format(verb='stop', **where)
    try:
        client.request('put', stop, body={})
        conflict = 'accepted'
    except ConflictError as err:
        conflict = json.loads(err.body)['message']
    wrong = {'spec': {'runStrategy': 'Sometimes'}}
    try:
        vms.patch(body=wrong, content_type=MERGE, dry_run='All', **where)
        invalid = 'accepted'
    except ApiException as err:
        invalid = json.loads(err.body)['message']
    return {'conflict': conflict, 'invalid': invalid}


def live(client, vms, where, version):
    """Starts, stops and deletes the VM, each when the watch shows that the step before has come true."""
    def operate(verb):
        client.request('put', OPERATIONS.format(verb=verb, **where), body={})

    steps = iter([
        ('Stopped', lambda: operate('start')),
        ('Running', lambda: operate('stop')),
        ('Stopped', lambda: vms.delete(**where)),
    ])
    seen = []
    wanted, act = next(steps)
    for event in vms.watch(resource_version=version, timeout=PATIENCE_S, **where):
        if event['type'] == 'DELETED':
            return [*seen, 'DELETED']
        status = (event['raw_object'].get('status') or {}).get('printableStatus')
        if not seen or seen[-1] != status:
            seen.append(status)
        if status == wanted:
            act()
            wanted, act = next(steps, (None, None))
    return seen


def main():
    manifest = json.load(sys.stdin)
    where = {'name': manifest['metadata']['name'], 'namespace': manifest['metadata']['namespace']}
    with tempfile.TemporaryDirectory() as folder:
        client = dynamic.DynamicClient(config.new_client_from_config(), cache_file=f'{folder}/discovery.json')
        vms = client.resources.get(api_version='kubevirt.io/v1', kind='VirtualMachine')
        created = vms.create(body=manifest)
        report = {
            'shortNames': vms.short_names,
            'defaulted': created.spec.template.spec.domain.machine.type,
            'labels': change(vms, where),
            'listed': [vm.metadata.name for vm in vms.get(namespace=where['namespace'], label_selector='merged=yes,applied=yes').items],
            'refusals': refusals(client, vms, where),
            'seen': live(client, vms, where, created.metadata.resourceVersion),
        }
    print(json.dumps(report))


main()
